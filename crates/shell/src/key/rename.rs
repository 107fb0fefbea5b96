//! `o3 sh key rename`.

use clap::Args;
use client::KeyPath;
use config::Configuration;

use crate::ShellError;
use crate::address::Address;

/// Rename a key within its bucket.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 sh key rename /vol1/bucket1 old/name new/name")]
pub struct Rename {
    /// The bucket: /vol1/bucket1
    address: String,
    /// The key's name.
    from: String,
    /// Its new name.
    to: String,
}

/// Runs the command.
pub(crate) async fn run(args: Rename, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    let from = KeyPath::new(volume, bucket, args.from);
    Ok(address.client(conf)?.rename_key(&from, &args.to).await?)
}
