//! `o3 admin replicationmanager stop`.

use clap::Args;
use config::Configuration;

use crate::admin::scm_client::ScmArgs;
use crate::{ShellError, output};

/// Stop the replication manager: replicas are not created, moved or deleted, and containers not
/// closed, until it is started again or the SCM leader changes.
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
