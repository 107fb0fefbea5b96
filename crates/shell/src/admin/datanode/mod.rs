//! `o3 admin datanode`.

mod list;
mod usageinfo;

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
}

/// Runs one.
pub(crate) async fn run(command: DatanodeCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        DatanodeCommand::List(args) => list::run(args, conf).await,
        DatanodeCommand::Usageinfo(args) => usageinfo::run(args, conf).await,
    }
}
