//! `o3 sh snapshot delete`.

use clap::Args;
use config::Configuration;

use crate::ShellError;
use crate::address::Address;

/// Delete a snapshot.
#[derive(Debug, Clone, Args)]
pub struct Delete {
    /// The bucket: /vol1/bucket1
    address: String,
    /// Name of the snapshot.
    name: String,
}

/// Runs the command.
pub(crate) async fn run(args: Delete, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    Ok(address.client(conf)?.delete_snapshot(volume, bucket, &args.name).await?)
}
