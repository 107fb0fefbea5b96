//! `o3 sh bucket info`.

use clap::Args;
use config::Configuration;

use crate::address::Address;
use crate::{ShellError, output, render};

/// Show a bucket as JSON.
#[derive(Debug, Clone, Args)]
pub struct Info {
    /// The bucket: /vol1/bucket1
    address: String,
    /// Accepted for compatibility: the output is always JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) async fn run(args: Info, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    let bucket = address.client(conf)?.bucket_info(volume, bucket).await?;
    output::value(&render::bucket::bucket(&bucket))
}
