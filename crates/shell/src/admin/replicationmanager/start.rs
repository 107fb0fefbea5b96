//! `o3 admin replicationmanager start`.

use clap::Args;
use config::Configuration;

use crate::admin::scm_client::ScmArgs;
use crate::{ShellError, output};

/// Start the replication manager. It runs by default when SCM starts.
#[derive(Debug, Clone, Args)]
pub struct Start {
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs the command.
pub(super) async fn run(args: Start, conf: &Configuration) -> Result<(), ShellError> {
    args.scm.client(conf).start_replication_manager().await?;
    output::line("Starting ReplicationManager...")
}
