//! `o3 sh key info`.

use clap::Args;
use config::Configuration;

use crate::address::Address;
use crate::{ShellError, output, render};

/// Show a key and the locations of its blocks as JSON.
#[derive(Debug, Clone, Args)]
pub struct Info {
    /// The key: /vol1/bucket1/key1
    address: String,
    /// Accepted for compatibility: the output is always JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) async fn run(args: Info, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let key = address.client(conf)?.key_info(&address.key()?).await?;
    output::value(&render::key::key(&key))
}
