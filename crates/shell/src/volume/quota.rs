//! `o3 sh volume setquota` and `clrquota`.

use clap::Args;
use client::VolumeChange;
use config::Configuration;

use crate::ShellError;
use crate::address::Address;
use crate::quota::{ClearArgs, QuotaArgs};

/// Set quotas of a volume.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  o3 sh volume setquota --space-quota 10TB --namespace-quota 100 /vol1"
)]
pub struct SetQuota {
    /// The volume: /vol1
    address: String,
    #[command(flatten)]
    quota: QuotaArgs,
}

/// Clear quotas of a volume.
#[derive(Debug, Clone, Args)]
pub struct ClearQuota {
    /// The volume: /vol1
    address: String,
    #[command(flatten)]
    clear: ClearArgs,
}

async fn change(
    address: &str,
    (bytes, names): (Option<i64>, Option<i64>),
    conf: &Configuration,
) -> Result<(), ShellError> {
    let address = Address::parse(address)?;
    let change = VolumeChange { owner: None, quota_in_bytes: bytes, quota_in_namespace: names };
    Ok(address.client(conf)?.change_volume(address.volume()?, change).await?)
}

/// Runs `setquota`.
pub(crate) async fn set(args: SetQuota, conf: &Configuration) -> Result<(), ShellError> {
    change(&args.address, args.quota.required()?, conf).await
}

/// Runs `clrquota`.
pub(crate) async fn clear(args: ClearQuota, conf: &Configuration) -> Result<(), ShellError> {
    change(&args.address, args.clear.required()?, conf).await
}
