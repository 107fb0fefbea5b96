//! `o3 sh bucket list`.

use clap::Args;
use config::Configuration;

use crate::address::Address;
use crate::output::ListArgs;
use crate::{ShellError, output, render};

/// List buckets of a volume as JSON.
#[derive(Debug, Clone, Args)]
pub struct List {
    /// The volume: /vol1
    address: String,
    #[command(flatten)]
    list: ListArgs,
}

/// Runs the command.
pub(crate) async fn run(args: List, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (client, volume) = (address.client(conf)?, address.volume()?);
    let buckets = client.list_buckets(volume, &args.list.prefix, &args.list.start);
    output::list(buckets, args.list.limit()?, render::bucket::bucket).await.map(drop)
}
