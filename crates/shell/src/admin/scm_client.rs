//! The SCM that a command talks to.

use clap::Args;
use client::{ClientOptions, ScmClient};
use config::{Configuration, HostPort};

use crate::ShellError;

/// The SCM of a command.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScmArgs {
    /// Address of the SCM, host:port; by default the configured one, or the leader of several.
    #[arg(long, value_name = "HOST:PORT")]
    pub(super) scm: Option<String>,
}

impl ScmArgs {
    /// The SCM at an address.
    pub(crate) fn of(address: &HostPort) -> Self {
        Self { scm: Some(address.connect().to_string()) }
    }

    pub(crate) fn client(&self, conf: &Configuration) -> ScmClient {
        let mut options = ClientOptions::from_configuration(conf);
        if let Some(scm) = &self.scm {
            options.scm_addresses = vec![scm.clone()];
        }
        ScmClient::new(&options)
    }
}

/// The SCM of a command, by its address or its service.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScmServiceArgs {
    #[command(flatten)]
    scm: ScmArgs,
    /// Id of the SCM service, if several are configured; Ozone's -id is the same.
    #[arg(long = "service-id", value_name = "ID", conflicts_with = "scm")]
    service: Option<String>,
}

impl ScmServiceArgs {
    pub(crate) fn client(&self, conf: &Configuration) -> Result<ScmClient, ShellError> {
        let Some(id) = &self.service else { return Ok(self.scm.client(conf)) };
        let conf = conf.with("ozone.scm.default.service.id", id);
        match conf.scm_service() {
            Some(service) if service.id == *id => Ok(self.scm.client(&conf)),
            _ => Err(ShellError::Usage(format!(
                "--service-id {id}: no such SCM service is configured"
            ))),
        }
    }
}

/// A malformed message from SCM.
pub(crate) fn nonsense(e: types::WireError) -> ShellError {
    ShellError::Refused(format!("SCM sent an invalid answer: {e}"))
}
