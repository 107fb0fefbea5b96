//! `o3 debug replicas`.
//!
//! * [`verify`]: the walk over keys, and what is printed
//! * [`checks`]: what is asked of each replica of a block
//! * [`outcome`]: what can be checked of a replica, and what came of it
//! * [`container_state`]: one of these checks, which asks SCM, too
//! * [`summary`]: what was counted
//! * [`chunk_info`]: what each replica has of a key's blocks

mod checks;
mod chunk_info;
mod container_state;
mod outcome;
mod summary;
mod verify;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// What can be done with replicas.
#[derive(Debug, Clone, Subcommand)]
pub enum ReplicasCommand {
    /// Read all replicas of keys and say what is wrong with each.
    Verify(verify::Verify),
    /// Show which chunks each replica of a key has.
    ChunkInfo(chunk_info::ChunkInfo),
}

/// Runs one.
pub(crate) async fn run(command: ReplicasCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        ReplicasCommand::Verify(args) => verify::run(args, conf).await,
        ReplicasCommand::ChunkInfo(args) => chunk_info::run(args, conf).await,
    }
}
