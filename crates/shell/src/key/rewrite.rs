//! `o3 sh key rewrite`.

use clap::Args;
use client::{CreateKey, Precondition};
use config::Configuration;

use super::cp::copy;
use crate::ShellError;
use crate::address::Address;
use crate::replication::ReplicationArgs;

/// Write a key again with another replication. If somebody changes the key meanwhile, their
/// change stays and the command fails.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 sh key rewrite -t RATIS -r ONE /vol1/bucket1/key1")]
pub struct Rewrite {
    /// The key: /vol1/bucket1/key1
    address: String,
    #[command(flatten)]
    replication: ReplicationArgs,
}

/// Runs the command.
pub(crate) async fn run(args: Rewrite, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let path = address.key()?;
    let replication = args
        .replication
        .config()?
        .ok_or_else(|| ShellError::Usage("--type and --replication say how to write it".into()))?;
    let client = address.client(conf)?;
    let generation = client.key_info(&path).await?.update_id();
    let to = CreateKey::new(path.clone())
        .replication(replication)
        .only_if(Precondition::Generation(generation));
    copy(&client, &path, to).await
}
