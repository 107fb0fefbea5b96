//! `o3 admin datanode diskbalancer`: calls DataNodes directly over Hadoop RPC, like Ozone's
//! command.

mod change;
mod report;
mod status;
mod targets;

use clap::{Args, Subcommand};
use config::Configuration;

use crate::ShellError;

/// Commands for the disk balancer.
#[derive(Debug, Clone, Args)]
pub struct DiskBalancer {
    #[command(subcommand)]
    pub(super) command: DiskBalancerCommand,
}

/// Commands for the disk balancers of DataNodes.
#[derive(Debug, Clone, Subcommand)]
pub enum DiskBalancerCommand {
    /// Start the disk balancers of DataNodes, which move closed containers from full to emptier
    /// disks of the same DataNode. Parameters that are not given are unchanged.
    Start(change::Start),
    /// Stop the disk balancers of DataNodes. Moves in progress are cancelled.
    Stop(change::Stop),
    /// Change the parameters of the disk balancers of DataNodes.
    Update(change::Update),
    /// Show the state, parameters and progress of the disk balancers of DataNodes.
    Status(status::Status),
    /// Show the utilization of the disks of DataNodes.
    Report(report::Report),
}

/// Runs a command.
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
