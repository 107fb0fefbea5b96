//! `o3 sh key cat`.

use clap::Args;
use config::Configuration;
use futures::TryStreamExt;
use tokio::io::AsyncWriteExt;

use crate::ShellError;
use crate::address::Address;

/// Print a key to standard output.
#[derive(Debug, Clone, Args)]
pub struct Cat {
    /// The key: /vol1/bucket1/key1
    address: String,
}

/// Runs the command.
pub(crate) async fn run(args: Cat, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (_, mut pieces) = address.client(conf)?.begin_key(&address.key()?).await?;
    let mut out = tokio::io::stdout();
    let failed = || ShellError::local("standard output");
    while let Some(piece) = pieces.try_next().await? {
        out.write_all(&piece).await.map_err(failed())?;
    }
    out.flush().await.map_err(failed())
}
