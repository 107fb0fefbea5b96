//! `o3 sh key put`.

use std::path::PathBuf;

use bytes::BytesMut;
use clap::Args;
use client::{CreateKey, FinishOptions, Precondition};
use config::Configuration;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::progress;
use crate::ShellError;
use crate::address::Address;
use crate::replication::ReplicationArgs;
use crate::storage_policy::KeyPolicyArgs;

/// Size of a read in bytes.
const PIECE: usize = 4 << 20;

/// Store a file or standard input as a key; an existing key is replaced.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 sh key put /vol1/bucket1/logs/a.gz ./a.gz\n  \
    tar c dir | o3 sh key put /vol1/bucket1/dir.tar -")]
pub struct Put {
    /// The key: /vol1/bucket1/key1
    address: String,
    /// The file; - is standard input.
    file: PathBuf,
    /// Store only if the key exists with this generation (shown by `key info`).
    #[arg(long = "expectedGeneration", visible_alias = "expected-generation", value_name = "N")]
    expected_generation: Option<u64>,
    /// Accepted for compatibility: every write streams.
    #[arg(long)]
    stream: bool,
    #[command(flatten)]
    replication: ReplicationArgs,
    #[command(flatten)]
    storage: KeyPolicyArgs,
}

/// Runs the command.
pub(crate) async fn run(args: Put, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let mut key = CreateKey::new(address.key()?);
    key.replication = args.replication.config_or(conf)?;
    args.storage.set(&mut key.metadata);
    if let Some(generation) = args.expected_generation {
        key = key.only_if(Precondition::Generation(generation));
    }
    let client = address.client(conf)?;
    let name = args.file.display().to_string();
    if name == "-" {
        return store(&client, key, tokio::io::stdin(), None, "standard input").await;
    }
    let file = tokio::fs::File::open(&args.file).await.map_err(ShellError::local(&name))?;
    let meta = file.metadata().await.map_err(ShellError::local(&name))?;
    if meta.is_dir() {
        return Err(ShellError::Refused(format!("{name} is a directory")));
    }
    let key = key.size_hint(meta.len());
    store(&client, key, file, Some(meta.len()), &name).await
}

async fn store(
    client: &client::Client,
    key: CreateKey,
    mut from: impl AsyncRead + Unpin,
    len: Option<u64>,
    name: &str,
) -> Result<(), ShellError> {
    let mut writer = client.create_key(key).await?;
    let bar = progress::bar(len);
    loop {
        // A new buffer each time: the writer keeps it until it is acknowledged.
        let want = len.map_or(PIECE, |l| PIECE.min((l as usize).max(1)));
        let mut piece = BytesMut::with_capacity(want);
        while piece.len() < want {
            if from.read_buf(&mut piece).await.map_err(ShellError::local(name))? == 0 {
                break;
            }
        }
        if piece.is_empty() {
            break;
        }
        bar.inc(piece.len() as u64);
        writer.write(piece.freeze()).await?;
    }
    writer.finish(FinishOptions::default()).await?;
    bar.finish_and_clear();
    Ok(())
}
