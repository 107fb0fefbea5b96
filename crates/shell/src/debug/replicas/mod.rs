//! `o3 debug replicas`.
//!
//! * [`verify`]: the walk over keys, and its output
//! * [`checks`]: the checks of each replica of a block
//! * [`outcome`]: the kinds of checks, and their results
//! * [`container_state`]: the check that also queries SCM
//! * [`summary`]: the counts
//! * [`chunk_info`]: the chunks of each replica of a key

mod checks;
mod chunk_info;
mod container_state;
mod outcome;
mod summary;
mod verify;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// Commands for replicas.
#[derive(Debug, Clone, Subcommand)]
pub enum ReplicasCommand {
    /// Read all replicas of keys and report defects of each.
    Verify(verify::Verify),
    /// Show the chunks of each replica of a key.
    ChunkInfo(chunk_info::ChunkInfo),
}

/// Runs a command.
pub(crate) async fn run(command: ReplicasCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        ReplicasCommand::Verify(args) => verify::run(args, conf).await,
        ReplicasCommand::ChunkInfo(args) => chunk_info::run(args, conf).await,
    }
}
