//! `o3 sh key delete`.

use clap::Args;
use config::Configuration;

use crate::ShellError;
use crate::address::Address;

/// Delete a key.
#[derive(Debug, Clone, Args)]
pub struct Delete {
    /// The key: /vol1/bucket1/key1
    address: String,
}

/// Runs the command.
pub(crate) async fn run(args: Delete, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    Ok(address.client(conf)?.delete_key(&address.key()?).await?)
}
