//! `o3 sh snapshot info`.

use clap::Args;
use config::Configuration;

use crate::address::Address;
use crate::{ShellError, output, render};

/// Show a snapshot as JSON.
#[derive(Debug, Clone, Args)]
pub struct Info {
    /// The bucket: /vol1/bucket1
    address: String,
    /// Name of the snapshot.
    name: String,
}

/// Runs the command.
pub(crate) async fn run(args: Info, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    let info = address.client(conf)?.snapshot_info(volume, bucket, &args.name).await?;
    output::value(&render::snapshot::snapshot(&info))
}
