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

/// What can be asked about DataNodes.
#[derive(Debug, Clone, Subcommand)]
pub enum DatanodeCommand {
    /// List DataNodes with their pipelines.
    #[command(visible_alias = "info")]
    List(list::List),
    /// Space and containers of DataNodes.
    Usageinfo(usageinfo::UsageInfo),
    /// Empty DataNodes, to be taken away for good.
    Decommission(leave::Decommission),
    /// Prepare DataNodes for being away for a while.
    Maintenance(leave::Maintenance),
    /// Take DataNodes back into service.
    Recommission(leave::Recommission),
    /// What still keeps DataNodes from leaving.
    Status(status::Status),
    /// The balancer of a DataNode's disks: start, stop, update, status, report.
    #[command(name = "diskbalancer")]
    DiskBalancer(diskbalancer::DiskBalancer),
}

/// Runs one.
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
