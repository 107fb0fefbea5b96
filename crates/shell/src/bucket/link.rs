//! `o3 sh bucket link`.

use clap::Args;
use client::BucketSpec;
use config::Configuration;

use crate::ShellError;
use crate::address::Address;

/// Create a link to a bucket.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 sh bucket link /vol1/bucket1 /s3v/bucket1")]
pub struct Link {
    /// The source bucket: /vol1/bucket1
    source: String,
    /// The link to create: /s3v/bucket1
    target: String,
}

/// Runs the command.
pub(crate) async fn run(args: Link, conf: &Configuration) -> Result<(), ShellError> {
    let (source, target) = (Address::parse(&args.source)?, Address::parse(&args.target)?);
    let (source_volume, source_bucket) = source.bucket()?;
    let (volume, bucket) = target.bucket()?;
    let spec = BucketSpec {
        link_to: Some((source_volume.to_owned(), source_bucket.to_owned())),
        ..BucketSpec::default()
    };
    Ok(target.client(conf)?.create_bucket(volume, bucket, spec).await?)
}
