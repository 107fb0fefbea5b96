//! `o3 debug datanode`: the data directories of a stopped DataNode.

mod check_containers;
mod disk;
mod finding;
mod places;

use clap::Subcommand;

use crate::ShellError;

/// Commands for data directories.
#[derive(Debug, Clone, Subcommand)]
pub enum DatanodeCommand {
    CheckContainers(check_containers::CheckContainers),
}

/// Runs a command.
pub(crate) fn run(command: &DatanodeCommand) -> Result<(), ShellError> {
    match command {
        DatanodeCommand::CheckContainers(args) => check_containers::run(args),
    }
}
