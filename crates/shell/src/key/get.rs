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

/// Fetch a key into a file. A file that is there is left alone, unless --force says otherwise.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 sh key get /vol1/bucket1/logs/a.gz ./a.gz\n  \
    o3 sh key get /vol1/bucket1/logs/a.gz ./dir/")]
pub struct Get {
    /// The key: /vol1/bucket1/key1
    address: String,
    /// The file, or a directory to put it in under the last part of its name.
    file: PathBuf,
    /// Overwrite the file if it is there.
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
    // Under another name until it is whole, so that a broken transfer leaves nothing that looks
    // whole.
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

/// Writes to `to`; what fails is told of `name`, the file that was asked for.
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
