//! `o3 sh snapshot create`.

use clap::Args;
use config::Configuration;

use crate::ShellError;
use crate::address::Address;

/// Create a snapshot of a bucket. Its keys are under /vol1/bucket1/.snapshot/NAME/.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 sh snapshot create /vol1/bucket1 monday\n  \
    o3 sh key list /vol1/bucket1 --prefix .snapshot/monday/")]
pub struct Create {
    /// The bucket: /vol1/bucket1
    address: String,
    /// Name of the snapshot; by default the current time.
    name: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(args: Create, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    let client = address.client(conf)?;
    client.create_snapshot(volume, bucket, args.name.as_deref()).await?;
    Ok(())
}
