//! `o3 admin replicationmanager`.

mod start;
mod status;
mod stop;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// Commands for the replication manager.
#[derive(Debug, Clone, Subcommand)]
pub enum ReplicationManagerCommand {
    /// Start the replication manager.
    Start(start::Start),
    /// Stop the replication manager.
    Stop(stop::Stop),
    /// Show whether the replication manager runs.
    Status(status::Status),
}

/// Runs a command.
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
