//! `o3 admin service`: what goes on by itself on every server.

mod act;
mod list;
mod servers;

use clap::Subcommand;
use config::Configuration;
use proto::background_service::BackgroundServiceAction;

use crate::ShellError;

/// What can be done with background services.
#[derive(Debug, Clone, Subcommand)]
pub enum ServiceCommand {
    /// What goes on by itself on every OM, SCM and DataNode, how often, and what it came to.
    List(list::List),
    /// Have services run once, now, also while they are paused.
    Run(act::Act),
    /// Keep services from running by themselves, until they are resumed or their server starts
    /// again.
    Pause(act::Act),
    /// Let paused services run by themselves again.
    Resume(act::Act),
}

/// Runs one.
pub(crate) async fn run(command: ServiceCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        ServiceCommand::List(args) => list::run(args, conf).await,
        ServiceCommand::Run(args) => act::run(args, BackgroundServiceAction::Run, conf).await,
        ServiceCommand::Pause(args) => act::run(args, BackgroundServiceAction::Pause, conf).await,
        ServiceCommand::Resume(args) => act::run(args, BackgroundServiceAction::Resume, conf).await,
    }
}
