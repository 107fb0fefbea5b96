//! `o3 admin replicationmanager`.

mod start;
mod status;
mod stop;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// What can be done with the replication manager.
#[derive(Debug, Clone, Subcommand)]
pub enum ReplicationManagerCommand {
    /// Start it.
    Start(start::Start),
    /// Stop it.
    Stop(stop::Stop),
    /// Whether it runs.
    Status(status::Status),
}

/// Runs one.
pub(crate) async fn run(
    command: ReplicationManagerCommand,
    conf: &Configuration,
) -> Result<(), ShellError> {
    match command {
        ReplicationManagerCommand::Start(args) => start::run(args, conf).await,
        ReplicationManagerCommand::Stop(args) => stop::run(args, conf).await,
        ReplicationManagerCommand::Status(args) => status::run(args, conf).await,
    }
}
