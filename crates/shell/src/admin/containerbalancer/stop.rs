//! `o3 admin containerbalancer stop`.

use clap::Args;
use config::Configuration;

use crate::admin::scm_client::ScmArgs;
use crate::{ShellError, output};

/// Stop the container balancer. Moves in progress are completed.
#[derive(Debug, Clone, Args)]
pub struct Stop {
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs the command.
pub(super) async fn run(args: Stop, conf: &Configuration) -> Result<(), ShellError> {
    args.scm.client(conf).stop_container_balancer().await?;
    output::line("Container Balancer stopped.")
}
