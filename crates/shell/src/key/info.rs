//! `o3 sh key info`.

use clap::Args;
use config::Configuration;

use crate::address::Address;
use crate::{ShellError, output, render};

/// Show a key as JSON, with where its blocks are.
#[derive(Debug, Clone, Args)]
pub struct Info {
    /// The key: /vol1/bucket1/key1
    address: String,
    /// Accepted for symmetry: the output is JSON in any case.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) async fn run(args: Info, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let key = address.client(conf)?.key_info(&address.key()?).await?;
    output::value(&render::key::key(&key))
}
