//! `o3 admin datanode diskbalancer`: asks DataNodes themselves, by Hadoop RPC, as Ozone's command
//! does.

mod change;
mod report;
mod status;
mod targets;

use clap::{Args, Subcommand};
use config::Configuration;

use crate::ShellError;

/// The balancer of a DataNode's disks.
#[derive(Debug, Clone, Args)]
pub struct DiskBalancer {
    #[command(subcommand)]
    pub(super) command: DiskBalancerCommand,
}

/// What can be done about the disks of a DataNode.
#[derive(Debug, Clone, Subcommand)]
pub enum DiskBalancerCommand {
    /// Have the disks of DataNodes balanced: closed containers move from full disks to emptier ones
    /// of the same DataNode. What is not said here stays as it is.
    Start(change::Start),
    /// Move nothing more; moves that are under way are given up.
    Stop(change::Stop),
    /// Change how the disks of DataNodes are balanced.
    Update(change::Update),
    /// Whether the disks of DataNodes are being balanced, how, and what came of it.
    Status(status::Status),
    /// How full the disks of DataNodes are.
    Report(report::Report),
}

/// Runs one.
pub(super) async fn run(
    command: DiskBalancerCommand,
    conf: &Configuration,
) -> Result<(), ShellError> {
    match command {
        DiskBalancerCommand::Start(args) => change::start(args, conf).await,
        DiskBalancerCommand::Stop(args) => change::stop(args, conf).await,
        DiskBalancerCommand::Update(args) => change::update(args, conf).await,
        DiskBalancerCommand::Status(args) => status::run(args, conf).await,
        DiskBalancerCommand::Report(args) => report::run(args, conf).await,
    }
}
