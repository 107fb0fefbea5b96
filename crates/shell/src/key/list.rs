//! `o3 sh key list`.

use clap::Args;
use client::ListKeys;
use config::Configuration;

use crate::address::Address;
use crate::output::ListArgs;
use crate::{ShellError, output, render};

/// List keys of a bucket as JSON.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 sh key list /vol1/bucket1\n  \
    o3 sh key list --prefix logs/2026 --all /vol1/bucket1")]
pub struct List {
    /// The bucket: /vol1/bucket1
    address: String,
    #[command(flatten)]
    list: ListArgs,
}

/// Runs it.
pub(crate) async fn run(args: List, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    let client = address.client(conf)?;
    let listing =
        ListKeys::new(volume, bucket).prefix(&args.list.prefix).start_after(&args.list.start);
    let limit = args.list.limit()?;
    output::list(client.list_keys(listing), limit, |k| render::key::listed(volume, bucket, k)).await
}
