//! `o3 admin datanode`.

mod diskbalancer;
mod leave;
mod list;
mod status;
mod usageinfo;

pub(crate) use status::{Progress, progress_of_all};

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// Commands for DataNodes.
#[derive(Debug, Clone, Subcommand)]
pub enum DatanodeCommand {
    /// List DataNodes with their pipelines.
    #[command(visible_alias = "info")]
    List(list::List),
    /// Show space and containers of DataNodes.
    Usageinfo(usageinfo::UsageInfo),
    /// Decommission DataNodes.
    Decommission(leave::Decommission),
    /// Put DataNodes into maintenance mode.
    Maintenance(leave::Maintenance),
    /// Return DataNodes to service.
    Recommission(leave::Recommission),
    /// Show the progress of decommissioning and maintenance.
    Status(status::Status),
    /// Disk balancers of DataNodes: start, stop, update, status, report.
    #[command(name = "diskbalancer")]
    DiskBalancer(diskbalancer::DiskBalancer),
}

/// Runs a command.
pub(crate) async fn run(command: DatanodeCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        DatanodeCommand::List(args) => list::run(args, conf).await,
        DatanodeCommand::Usageinfo(args) => usageinfo::run(args, conf).await,
        DatanodeCommand::Decommission(args) => leave::decommission(args, conf).await,
        DatanodeCommand::Maintenance(args) => leave::maintenance(args, conf).await,
        DatanodeCommand::Recommission(args) => leave::recommission(args, conf).await,
        DatanodeCommand::Status(args) => status::run(args, conf).await,
        DatanodeCommand::DiskBalancer(args) => diskbalancer::run(args.command, conf).await,
    }
}
