//! `o3 sh volume info`.

use clap::Args;
use config::Configuration;

use crate::address::Address;
use crate::{ShellError, output, render};

/// Show a volume as JSON.
#[derive(Debug, Clone, Args)]
pub struct Info {
    /// The volume: /vol1
    address: String,
    /// Accepted for compatibility: the output is always JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) async fn run(args: Info, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let volume = address.client(conf)?.volume_info(address.volume()?).await?;
    output::value(&render::volume::volume(&volume))
}
