//! `o3 admin pipeline`.

mod close;
mod create;
mod list;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// Commands for pipelines.
#[derive(Debug, Clone, Subcommand)]
pub enum PipelineCommand {
    /// List pipelines.
    List(list::List),
    /// Create a pipeline.
    Create(create::Create),
    /// Close a pipeline.
    Close(close::Close),
}

/// Runs a command.
pub(crate) async fn run(command: PipelineCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        PipelineCommand::List(args) => list::run(args, conf).await,
        PipelineCommand::Create(args) => create::run(args, conf).await,
        PipelineCommand::Close(args) => close::run(args, conf).await,
    }
}
