//! `o3 sh volume list`.

use clap::Args;
use client::VolumeScope;
use config::Configuration;

use crate::address::Address;
use crate::output::ListArgs;
use crate::{ShellError, output, render};

/// List volumes as JSON: those of a user, or all with --all-users.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  o3 sh volume list\n  o3 sh volume list --user alice -p logs /"
)]
pub struct List {
    /// The cluster: / or o3://host:port/
    #[arg(default_value = "/")]
    address: String,
    /// Only volumes of this user; by default the caller's.
    #[arg(short = 'u', long, value_name = "NAME")]
    user: Option<String>,
    /// List volumes of all users.
    #[arg(long, conflicts_with = "user")]
    all_users: bool,
    #[command(flatten)]
    list: ListArgs,
}

/// Runs the command.
pub(crate) async fn run(args: List, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    if address.volume_or_root()?.is_some() {
        return Err(ShellError::Usage(
            "Invalid URI. Volume/bucket/key elements should not been used".into(),
        ));
    }
    let client = address.client(conf)?;
    let scope = if args.all_users { VolumeScope::Cluster } else { VolumeScope::ByUser };
    let user = args.user.as_deref().or(Some(client.options().user.as_str()));
    let user = user.filter(|_| !args.all_users);
    let volumes = client.list_volumes(scope, user, &args.list.prefix, &args.list.start);
    output::list(volumes, args.list.limit()?, render::volume::volume).await.map(drop)
}
