//! `o3 sh bucket update`.

use clap::Args;
use client::BucketChange;
use config::Configuration;

use crate::address::Address;
use crate::{ShellError, output, render};

/// Give a bucket another owner and show it.
#[derive(Debug, Clone, Args)]
pub struct Update {
    /// The bucket: /vol1/bucket1
    address: String,
    /// The new owner.
    #[arg(short = 'u', long, value_name = "NAME")]
    user: String,
}

/// Runs the command.
pub(crate) async fn run(args: Update, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    let client = address.client(conf)?;
    let change = BucketChange { owner: Some(args.user), ..BucketChange::default() };
    client.change_bucket(volume, bucket, change).await?;
    output::value(&render::bucket::bucket(&client.bucket_info(volume, bucket).await?))
}
