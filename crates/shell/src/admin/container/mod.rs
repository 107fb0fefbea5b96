//! `o3 admin container`.

mod close;
mod create;
mod info;
mod list;
mod reconcile;
mod report;

pub(crate) use report::time;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// Commands for containers.
#[derive(Debug, Clone, Subcommand)]
pub enum ContainerCommand {
    /// List containers.
    List(list::List),
    /// Show a container with its pipeline and replicas.
    Info(info::Info),
    /// Create a container.
    Create(create::Create),
    /// Close a container.
    Close(close::Close),
    /// Compare the replicas of containers and repair differences from each other.
    Reconcile(reconcile::Reconcile),
    /// Show the number of containers in each state.
    Report(report::Report),
}

/// Runs a command.
pub(crate) async fn run(command: ContainerCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        ContainerCommand::List(args) => list::run(args, conf).await,
        ContainerCommand::Info(args) => info::run(args, conf).await,
        ContainerCommand::Create(args) => create::run(args, conf).await,
        ContainerCommand::Close(args) => close::run(args, conf).await,
        ContainerCommand::Reconcile(args) => reconcile::run(args, conf).await,
        ContainerCommand::Report(args) => report::run(args, conf).await,
    }
}
