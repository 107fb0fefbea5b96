//! `o3 admin replicationmanager status`.

use clap::Args;
use config::Configuration;
use serde_json::json;

use crate::admin::scm_client::ScmArgs;
use crate::{ShellError, output};

/// Show whether the replication manager runs.
#[derive(Debug, Clone, Args)]
pub struct Status {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs the command.
pub(super) async fn run(args: Status, conf: &Configuration) -> Result<(), ShellError> {
    let runs = args.scm.client(conf).replication_manager_runs().await?;
    if args.json {
        return output::value(&json!({ "isRunning": runs }));
    }
    output::line(if runs {
        "ReplicationManager is Running."
    } else {
        "ReplicationManager is Not Running."
    })
}
