//! `o3 admin`.

mod container;
mod datanode;
mod pipeline;
mod safemode;
mod scm;

use clap::{Args, Subcommand};
use client::{ClientOptions, ScmClient};
use config::Configuration;

use crate::ShellError;

/// What administrators do.
#[derive(Debug, Clone, Subcommand)]
pub enum AdminCommand {
    /// DataNodes: list, info, usageinfo.
    #[command(subcommand)]
    Datanode(datanode::DatanodeCommand),
    /// Pipelines: list, create, close.
    #[command(subcommand)]
    Pipeline(pipeline::PipelineCommand),
    /// Containers: list, info, close, report.
    #[command(subcommand)]
    Container(container::ContainerCommand),
    /// Safe mode: status, wait, exit.
    #[command(subcommand)]
    Safemode(safemode::SafemodeCommand),
    /// SCM: roles.
    #[command(subcommand)]
    Scm(scm::ScmCommand),
}

/// Which SCM to ask.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScmArgs {
    /// The SCM to ask, host:port; the configured one when absent.
    #[arg(long, value_name = "HOST:PORT")]
    scm: Option<String>,
}

impl ScmArgs {
    pub(crate) fn client(&self, conf: &Configuration) -> ScmClient {
        let mut options = ClientOptions::from_configuration(conf);
        if let Some(scm) = &self.scm {
            options.scm_addresses = vec![scm.clone()];
        }
        ScmClient::new(&options)
    }
}

/// Runs one.
pub(crate) async fn run(command: AdminCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        AdminCommand::Datanode(command) => datanode::run(command, conf).await,
        AdminCommand::Pipeline(command) => pipeline::run(command, conf).await,
        AdminCommand::Container(command) => container::run(command, conf).await,
        AdminCommand::Safemode(command) => safemode::run(command, conf).await,
        AdminCommand::Scm(command) => scm::run(command, conf).await,
    }
}

/// A message of SCM that makes no sense.
pub(crate) fn nonsense(e: types::WireError) -> ShellError {
    ShellError::Refused(format!("SCM sent an invalid answer: {e}"))
}
