//! `o3 sh snapshot rename`.

use clap::Args;
use config::Configuration;

use crate::ShellError;
use crate::address::Address;

/// Give a snapshot another name; OM allows it when ozone.om.snapshot.rename.allowed is true.
#[derive(Debug, Clone, Args)]
pub struct Rename {
    /// The bucket: /vol1/bucket1
    address: String,
    /// Present name of the snapshot.
    from: String,
    /// Its new name.
    to: String,
}

/// Runs it.
pub(crate) async fn run(args: Rename, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    Ok(address.client(conf)?.rename_snapshot(volume, bucket, &args.from, &args.to).await?)
}
