//! `o3 admin storagepolicy`.

mod check;
pub(crate) mod keys;
mod usageinfo;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// What can be asked about storage policies.
#[derive(Debug, Clone, Subcommand)]
pub enum StoragePolicyCommand {
    /// Space on the disks of each storage type, of all DataNodes or of each.
    #[command(name = "usageinfo")]
    UsageInfo(usageinfo::UsageInfo),
    /// Which keys are not on the disks where their policy wants them.
    Check(check::Check),
}

/// Runs one.
pub(crate) async fn run(
    command: StoragePolicyCommand,
    conf: &Configuration,
) -> Result<(), ShellError> {
    match command {
        StoragePolicyCommand::UsageInfo(args) => usageinfo::run(args, conf).await,
        StoragePolicyCommand::Check(args) => check::run(args, conf).await,
    }
}
