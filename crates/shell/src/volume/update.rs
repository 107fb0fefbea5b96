//! `o3 sh volume update`.

use clap::Args;
use client::VolumeChange;
use config::Configuration;

use crate::address::Address;
use crate::{ShellError, output, render};

/// Change the owner of a volume and show it.
#[derive(Debug, Clone, Args)]
pub struct Update {
    /// The volume: /vol1
    address: String,
    /// The new owner.
    #[arg(short = 'u', long, value_name = "NAME")]
    user: String,
}

/// Runs the command.
pub(crate) async fn run(args: Update, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (client, name) = (address.client(conf)?, address.volume()?);
    let change = VolumeChange { owner: Some(args.user), ..VolumeChange::default() };
    client.change_volume(name, change).await?;
    output::value(&render::volume::volume(&client.volume_info(name).await?))
}
