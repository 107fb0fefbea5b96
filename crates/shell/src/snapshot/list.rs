//! `o3 sh snapshot list`.

use clap::Args;
use config::Configuration;

use crate::address::Address;
use crate::output::ListArgs;
use crate::{ShellError, output, render};

/// List snapshots of a bucket as JSON.
#[derive(Debug, Clone, Args)]
pub struct List {
    /// The bucket: /vol1/bucket1
    address: String,
    #[command(flatten)]
    list: ListArgs,
}

/// Runs the command.
pub(crate) async fn run(args: List, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    let client = address.client(conf)?;
    let snapshots = client.list_snapshots(volume, bucket, &args.list.prefix, &args.list.start);
    output::list(snapshots, args.list.limit()?, render::snapshot::snapshot).await.map(drop)
}
