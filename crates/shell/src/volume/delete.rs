//! `o3 sh volume delete`.

use clap::Args;
use config::Configuration;
use futures::TryStreamExt;

use crate::address::Address;
use crate::bucket::delete::{confirm, empty};
use crate::{ShellError, output};

/// Delete an empty volume; -r deletes its buckets and keys first.
#[derive(Debug, Clone, Args)]
pub struct Delete {
    /// The volume: /vol1
    address: String,
    /// Delete its buckets and all their keys, too.
    #[arg(short = 'r', long)]
    recursive: bool,
    /// Do not ask for confirmation.
    #[arg(short = 'y', long)]
    yes: bool,
}

/// Runs the command.
pub(crate) async fn run(args: Delete, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (client, volume) = (address.client(conf)?, address.volume()?);
    if args.recursive {
        if !confirm(args.yes, "This command will delete volume recursively.")? {
            return Ok(());
        }
        let buckets: Vec<_> = client.list_buckets(volume, "", "").try_collect().await?;
        for bucket in &buckets {
            empty(&client, volume, &bucket.bucket_name).await?;
            client.delete_bucket(volume, &bucket.bucket_name).await?;
        }
    }
    client.delete_volume(volume).await?;
    output::line(format!("Volume {volume} is deleted"))
}
