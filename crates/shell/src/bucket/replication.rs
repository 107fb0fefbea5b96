//! `o3 sh bucket set-replication-config`.

use clap::Args;
use client::BucketChange;
use config::Configuration;

use crate::ShellError;
use crate::address::Address;
use crate::replication::ReplicationArgs;

/// Set the default replication of new keys; existing keys are unchanged.
#[derive(Debug, Clone, Args)]
pub struct SetReplicationConfig {
    /// The bucket: /vol1/bucket1
    address: String,
    #[command(flatten)]
    replication: ReplicationArgs,
}

/// Runs the command.
pub(crate) async fn run(
    args: SetReplicationConfig,
    conf: &Configuration,
) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    let replication = args
        .replication
        .config()?
        .ok_or_else(|| ShellError::Usage("--type and --replication are required".into()))?;
    let change = BucketChange { replication: Some(replication), ..BucketChange::default() };
    Ok(address.client(conf)?.change_bucket(volume, bucket, change).await?)
}
