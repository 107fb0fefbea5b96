//! `o3 admin storagepolicy`.

mod check;
pub(crate) mod keys;
mod usageinfo;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// Commands for storage policies.
#[derive(Debug, Clone, Subcommand)]
pub enum StoragePolicyCommand {
    /// Show space on the disks of each storage type, in total or by DataNode.
    #[command(name = "usageinfo")]
    UsageInfo(usageinfo::UsageInfo),
    /// Show keys that are not on disks that match their storage policy.
    Check(check::Check),
}

/// Runs a command.
pub(crate) async fn run(
    command: StoragePolicyCommand,
    conf: &Configuration,
) -> Result<(), ShellError> {
    match command {
        StoragePolicyCommand::UsageInfo(args) => usageinfo::run(args, conf).await,
        StoragePolicyCommand::Check(args) => check::run(args, conf).await,
    }
}
