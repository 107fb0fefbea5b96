//! `o3 sh bucket setquota` and `clrquota`.

use clap::Args;
use client::BucketChange;
use config::Configuration;

use crate::ShellError;
use crate::address::Address;
use crate::quota::{ClearArgs, QuotaArgs};

/// Set quotas of a bucket.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 sh bucket setquota --space-quota 1TB /vol1/bucket1")]
pub struct SetQuota {
    /// The bucket: /vol1/bucket1
    address: String,
    #[command(flatten)]
    quota: QuotaArgs,
}

/// Clear quotas of a bucket.
#[derive(Debug, Clone, Args)]
pub struct ClearQuota {
    /// The bucket: /vol1/bucket1
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
    let (volume, bucket) = address.bucket()?;
    let change = BucketChange {
        quota_in_bytes: bytes,
        quota_in_namespace: names,
        ..BucketChange::default()
    };
    Ok(address.client(conf)?.change_bucket(volume, bucket, change).await?)
}

/// Runs `setquota`.
pub(crate) async fn set(args: SetQuota, conf: &Configuration) -> Result<(), ShellError> {
    change(&args.address, args.quota.required()?, conf).await
}

/// Runs `clrquota`.
pub(crate) async fn clear(args: ClearQuota, conf: &Configuration) -> Result<(), ShellError> {
    change(&args.address, args.clear.required()?, conf).await
}
