//! `o3 sh bucket update`.

use clap::Args;
use client::BucketChange;
use config::Configuration;

use crate::address::Address;
use crate::storage_policy::BucketPolicyArgs;
use crate::{ShellError, output, render};

/// Change the owner or storage policy of a bucket, and show it.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 sh bucket update /vol1/bucket1 --storagepolicy COLD")]
pub struct Update {
    /// The bucket: /vol1/bucket1
    address: String,
    /// The new owner.
    #[arg(short = 'u', long, value_name = "NAME")]
    user: Option<String>,
    #[command(flatten)]
    storage: BucketPolicyArgs,
}

/// Runs the command.
pub(crate) async fn run(args: Update, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    if args.user.is_none() && args.storage.is_empty() {
        return Err(ShellError::Usage("--user or --storagepolicy is required".into()));
    }
    let client = address.client(conf)?;
    // OM accepts the owner only in a request of its own.
    if let Some(user) = args.user {
        let change = BucketChange { owner: Some(user), ..BucketChange::default() };
        client.change_bucket(volume, bucket, change).await?;
    }
    if !args.storage.is_empty() {
        let change = BucketChange { metadata: args.storage.metadata(), ..BucketChange::default() };
        client.change_bucket(volume, bucket, change).await?;
    }
    output::value(&render::bucket::bucket(&client.bucket_info(volume, bucket).await?))
}
