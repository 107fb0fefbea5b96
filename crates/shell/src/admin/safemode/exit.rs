//! `o3 admin safemode exit`.

use clap::Args;
use config::Configuration;

use super::leader;
use crate::admin::scm_client::ScmArgs;
use crate::{ShellError, output};

/// Force SCM to leave safe mode, regardless of its rules.
#[derive(Debug, Clone, Args)]
pub struct Exit {
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs the command.
pub(crate) async fn run(args: Exit, conf: &Configuration) -> Result<(), ShellError> {
    if leader::or_named(&args.scm, conf).await?.exit_safe_mode().await? {
        return output::line("SCM exit safe mode successfully.");
    }
    Err(ShellError::Refused("SCM did not leave safe mode.".into()))
}
