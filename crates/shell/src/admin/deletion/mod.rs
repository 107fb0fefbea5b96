//! `o3 admin deletion`.

mod status;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// Commands for deletions.
#[derive(Debug, Clone, Subcommand)]
pub enum DeletionCommand {
    /// Show pending deletions by stage and server, their age, and the reason for delays.
    Status(status::Status),
}

/// Runs a command.
pub(crate) async fn run(command: DeletionCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        DeletionCommand::Status(args) => status::run(args, conf).await,
    }
}
