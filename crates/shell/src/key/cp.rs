//! `o3 sh key cp`.

use clap::Args;
use client::{Client, CreateKey, FinishOptions, KeyPath};
use config::Configuration;
use futures::TryStreamExt;

use super::progress;
use crate::ShellError;
use crate::address::Address;
use crate::replication::ReplicationArgs;
use crate::storage_policy::KeyPolicyArgs;

/// Copy a key to another name within its bucket.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 sh key cp /vol1/bucket1 from/name to/name")]
pub struct Cp {
    /// The bucket: /vol1/bucket1
    address: String,
    /// The key to copy.
    from: String,
    /// The name of the copy.
    to: String,
    #[command(flatten)]
    replication: ReplicationArgs,
}

/// Runs the command.
pub(crate) async fn run(args: Cp, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    let mut to = CreateKey::new(KeyPath::new(volume, bucket, args.to));
    to.replication = args.replication.config_or(conf)?;
    let from = KeyPath::new(volume, bucket, args.from);
    copy(&address.client(conf)?, &from, to, &KeyPolicyArgs::default()).await
}

/// Copies content, metadata and tags.
pub(super) async fn copy(
    client: &Client,
    from: &KeyPath,
    to: CreateKey,
    storage: &KeyPolicyArgs,
) -> Result<(), ShellError> {
    let (reader, mut pieces) = client.begin_key(from).await?;
    let pairs = |pairs: &[proto::hdds::KeyValue]| {
        pairs.iter().map(|p| (p.key.clone(), p.value().to_owned())).collect()
    };
    let mut to = to
        .size_hint(reader.len())
        .metadata(pairs(&reader.info().metadata))
        .tags(pairs(&reader.info().tags));
    storage.set(&mut to.metadata);
    let mut writer = client.create_key(to).await?;
    let bar = progress::bar(Some(reader.len()));
    while let Some(piece) = pieces.try_next().await? {
        bar.inc(piece.len() as u64);
        writer.write(piece).await?;
    }
    writer.finish(FinishOptions::default()).await?;
    bar.finish_and_clear();
    Ok(())
}
