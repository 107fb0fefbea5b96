//! `o3 admin safemode`.

mod exit;
pub(crate) mod leader;
mod status;
mod wait;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// Commands for safe mode.
#[derive(Debug, Clone, Subcommand)]
pub enum SafemodeCommand {
    /// Show whether SCM is in safe mode.
    Status(status::Status),
    /// Wait until SCM has left safe mode.
    Wait(wait::Wait),
    /// Force SCM to leave safe mode.
    Exit(exit::Exit),
}

/// Runs a command.
pub(crate) async fn run(
    command: SafemodeCommand,
    verbose: bool,
    conf: &Configuration,
) -> Result<(), ShellError> {
    match command {
        SafemodeCommand::Status(args) => status::run(args, verbose, conf).await,
        SafemodeCommand::Wait(args) => wait::run(args, conf).await,
        SafemodeCommand::Exit(args) => exit::run(args, conf).await,
    }
}
