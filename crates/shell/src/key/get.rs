//! `o3 sh key get`.

use std::path::PathBuf;

use clap::Args;
use client::Pieces;
use config::Configuration;
use futures::TryStreamExt;
use tokio::io::AsyncWriteExt;

use super::progress;
use crate::ShellError;
use crate::address::Address;

/// Download a key to a file. An existing file is not overwritten without --force.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 sh key get /vol1/bucket1/logs/a.gz ./a.gz\n  \
    o3 sh key get /vol1/bucket1/logs/a.gz ./dir/")]
pub struct Get {
    /// The key: /vol1/bucket1/key1
    address: String,
    /// The file, or a directory, in which the file is named after the last part of the key.
    file: PathBuf,
    /// Overwrite an existing file.
    #[arg(short = 'f', long)]
    force: bool,
}

/// Runs the command.
pub(crate) async fn run(args: Get, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let path = address.key()?;
    let mut file = args.file;
    if file.is_dir() {
        let name = path.key.rsplit('/').find(|p| !p.is_empty()).unwrap_or(&path.key);
        file.push(name);
    }
    let name = file.display().to_string();
    if file.exists() && !args.force {
        return Err(ShellError::Refused(format!(
            "{name} exists. Download would overwrite an existing file. Aborting."
        )));
    }
    let (reader, pieces) = address.client(conf)?.begin_key(&path).await?;
    // Use a temporary name until the file is complete, so that an interrupted transfer leaves no
    // file that looks complete.
    let mut partial = file.clone().into_os_string();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = PathBuf::from(partial);
    let fetched = fetch(pieces, reader.len(), &partial, &name).await;
    if let Err(e) = fetched {
        let _ = tokio::fs::remove_file(&partial).await;
        return Err(e);
    }
    tokio::fs::rename(&partial, &file).await.map_err(ShellError::local(name))
}

/// Writes to `to`; errors refer to `name`, the requested file.
async fn fetch(
    mut pieces: Pieces,
    length: u64,
    to: &PathBuf,
    name: &str,
) -> Result<(), ShellError> {
    let mut file = tokio::fs::File::create(to).await.map_err(ShellError::local(name))?;
    let bar = progress::bar(Some(length));
    while let Some(piece) = pieces.try_next().await? {
        file.write_all(&piece).await.map_err(ShellError::local(name))?;
        bar.inc(piece.len() as u64);
    }
    file.flush().await.map_err(ShellError::local(name))?;
    bar.finish_and_clear();
    Ok(())
}
