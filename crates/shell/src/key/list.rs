//! `o3 sh key list`.

use clap::Args;
use client::{Client, ListKeys};
use config::Configuration;
use futures::TryStreamExt;
use proto::ozone::BucketInfo;

use crate::address::Address;
use crate::output::{ListArgs, Listed};
use crate::{ShellError, output, render};

/// List keys of a bucket as JSON; of a volume, one array for each of its buckets.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 sh key list /vol1/bucket1\n  \
    o3 sh key list --prefix logs/2026 --all /vol1/bucket1")]
pub struct List {
    /// The bucket: /vol1/bucket1, or the volume: /vol1
    address: String,
    #[command(flatten)]
    list: ListArgs,
}

/// Runs the command.
pub(crate) async fn run(args: List, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.volume_or_bucket()?;
    let limit = args.list.limit()?;
    let client = address.client(conf)?;
    let Some(bucket) = bucket else {
        return of_volume(&client, volume, &args.list, limit).await;
    };
    let listed = of_bucket(&client, volume, bucket, &args.list, limit).await?;
    if listed.more {
        print_truncation(limit);
    }
    Ok(())
}

async fn of_bucket(
    client: &Client,
    volume: &str,
    bucket: &str,
    args: &ListArgs,
    limit: usize,
) -> Result<Listed, ShellError> {
    let listing = ListKeys::new(volume, bucket).prefix(&args.prefix).start_after(&args.start);
    let render = |k: &_| render::key::listed(volume, bucket, k);
    output::list(client.list_keys(listing), limit, render).await
}

/// Lists up to `limit` keys of all buckets, in the order of bucket names.
async fn of_volume(
    client: &Client,
    volume: &str,
    args: &ListArgs,
    limit: usize,
) -> Result<(), ShellError> {
    let mut buckets = std::pin::pin!(client.list_buckets(volume, "", ""));
    let mut next: Option<BucketInfo> = buckets.try_next().await?;
    let mut shown = 0;
    while let Some(bucket) = next {
        let left = limit - shown;
        let listed = of_bucket(client, volume, &bucket.bucket_name, args, left).await?;
        shown += listed.count;
        next = buckets.try_next().await?;
        if listed.more || (shown == limit && next.is_some()) {
            print_truncation(shown);
            break;
        }
    }
    Ok(())
}

/// Reports that the listing was truncated.
fn print_truncation(shown: usize) {
    eprintln!(
        "Listing first {shown} entries of the result. Use --length (-l) to override max returned \
         keys."
    );
}
