//! `o3 admin deletion`.

mod status;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// What can be asked about deletions.
#[derive(Debug, Clone, Subcommand)]
pub enum DeletionCommand {
    /// What waits to be deleted, where, for how long and for what.
    Status(status::Status),
}

/// Runs one.
pub(crate) async fn run(command: DeletionCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        DeletionCommand::Status(args) => status::run(args, conf).await,
    }
}
