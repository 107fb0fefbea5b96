//! `o3 admin pipeline close`.

use clap::Args;
use config::Configuration;
use types::PipelineId;

use crate::ShellError;
use crate::admin::scm_client::ScmArgs;

/// Close a pipeline and its containers. SCM creates another pipeline.
#[derive(Debug, Clone, Args)]
pub struct Close {
    /// The pipeline's id (`pipeline list` shows it).
    id: PipelineId,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs the command.
pub(crate) async fn run(args: Close, conf: &Configuration) -> Result<(), ShellError> {
    Ok(args.scm.client(conf).close_pipeline(args.id).await?)
}
