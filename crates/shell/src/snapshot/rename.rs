//! `o3 sh snapshot rename`.

use clap::Args;
use config::Configuration;

use crate::ShellError;
use crate::address::Address;

/// Rename a snapshot; requires ozone.om.snapshot.rename.allowed.
#[derive(Debug, Clone, Args)]
pub struct Rename {
    /// The bucket: /vol1/bucket1
    address: String,
    /// Current name of the snapshot.
    from: String,
    /// New name of the snapshot.
    to: String,
}

/// Runs the command.
pub(crate) async fn run(args: Rename, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    Ok(address.client(conf)?.rename_snapshot(volume, bucket, &args.from, &args.to).await?)
}
