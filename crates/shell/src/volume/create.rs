//! `o3 sh volume create`.

use clap::Args;
use config::Configuration;

use crate::ShellError;
use crate::address::Address;
use crate::quota::{NONE, QuotaArgs};

/// Create a volume.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 sh volume create /vol1\n  \
    o3 sh volume create /vol1 --space-quota 10TB --namespace-quota 100 --user alice")]
pub struct Create {
    /// The volume: /vol1
    address: String,
    /// Owner; by default the caller.
    #[arg(short = 'u', long, value_name = "NAME")]
    user: Option<String>,
    #[command(flatten)]
    quota: QuotaArgs,
}

/// Runs the command.
pub(crate) async fn run(args: Create, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (bytes, names) = (args.quota.bytes()?, args.quota.names()?);
    address
        .client(conf)?
        .create_volume(
            address.volume()?,
            args.user.as_deref(),
            bytes.unwrap_or(NONE),
            names.unwrap_or(NONE),
        )
        .await?;
    Ok(())
}
