//! `o3 admin replicationmanager stop`.

use clap::Args;
use config::Configuration;

use crate::admin::ScmArgs;
use crate::{ShellError, output};

/// Stop the replication manager: no replica is made, moved or deleted, and no container closed,
/// until it is started, or another SCM leads.
#[derive(Debug, Clone, Args)]
pub struct Stop {
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs the command.
pub(super) async fn run(args: Stop, conf: &Configuration) -> Result<(), ShellError> {
    args.scm.client(conf).stop_replication_manager().await?;
    output::line("Stopping ReplicationManager...")
}
