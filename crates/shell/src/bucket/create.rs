//! `o3 sh bucket create`.

use clap::Args;
use client::BucketSpec;
use config::Configuration;
use proto::ozone::BucketLayoutProto;

use crate::ShellError;
use crate::address::Address;
use crate::quota::{NONE, QuotaArgs};
use crate::replication::ReplicationArgs;
use crate::storage_policy::BucketPolicyArgs;

/// Create a bucket.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 sh bucket create /vol1/bucket1 --layout obs\n  \
    o3 sh bucket create /vol1/bucket1 --space-quota 1TB --type RATIS --replication THREE")]
pub struct Create {
    /// The bucket: /vol1/bucket1
    address: String,
    /// Layout: obs (OBJECT_STORE), fso (FILE_SYSTEM_OPTIMIZED) or legacy; by default the cluster's
    /// default.
    #[arg(short = 'l', long, value_parser = layout, value_name = "LAYOUT")]
    layout: Option<BucketLayoutProto>,
    /// Owner; by default the caller.
    #[arg(short = 'u', long, value_name = "NAME")]
    user: Option<String>,
    #[command(flatten)]
    quota: QuotaArgs,
    #[command(flatten)]
    replication: ReplicationArgs,
    #[command(flatten)]
    storage: BucketPolicyArgs,
}

/// An unknown bucket layout.
#[derive(Debug, thiserror::Error)]
#[error("layouts are obs, fso and legacy")]
struct UnknownLayout;

fn layout(text: &str) -> Result<BucketLayoutProto, UnknownLayout> {
    match text.to_ascii_uppercase().as_str() {
        "OBS" | "OBJECT_STORE" => Ok(BucketLayoutProto::ObjectStore),
        "FSO" | "FILE_SYSTEM_OPTIMIZED" => Ok(BucketLayoutProto::FileSystemOptimized),
        "LEGACY" => Ok(BucketLayoutProto::Legacy),
        _ => Err(UnknownLayout),
    }
}

/// Runs the command.
pub(crate) async fn run(args: Create, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    let spec = BucketSpec {
        layout: args.layout,
        replication: args.replication.config()?,
        quota_in_bytes: args.quota.bytes()?.unwrap_or(NONE),
        quota_in_namespace: args.quota.names()?.unwrap_or(NONE),
        owner: args.user,
        metadata: args.storage.metadata(),
        ..BucketSpec::default()
    };
    Ok(address.client(conf)?.create_bucket(volume, bucket, spec).await?)
}
