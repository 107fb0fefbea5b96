//! `o3 admin`.

mod container;
mod containerbalancer;
pub(crate) mod datanode;
mod deletion;
mod mover;
mod om;
mod pipeline;
mod replicationmanager;
pub(crate) mod safemode;
mod scm;
mod servers;
mod service;
mod storagepolicy;
mod topology;

use clap::{Args, Subcommand};
use client::{ClientOptions, ScmClient};
use config::{Configuration, HostPort};

use crate::{Noun, ShellError};

/// Commands for administrators.
#[derive(Debug, Clone, Subcommand)]
pub enum AdminCommand {
    /// DataNodes: list, info, usageinfo, decommission, maintenance, recommission, status,
    /// diskbalancer.
    Datanode(Noun<datanode::DatanodeCommand>),
    /// Pipelines: list, create, close.
    Pipeline(Noun<pipeline::PipelineCommand>),
    /// Containers: list, info, create, close, reconcile, report.
    Container(Noun<container::ContainerCommand>),
    /// The container balancer: start, stop, status.
    #[command(name = "containerbalancer")]
    ContainerBalancer(Noun<containerbalancer::ContainerBalancerCommand>),
    /// The replication manager: start, stop, status.
    #[command(name = "replicationmanager")]
    ReplicationManager(Noun<replicationmanager::ReplicationManagerCommand>),
    /// Safe mode: status, wait, exit.
    Safemode(Noun<safemode::SafemodeCommand>),
    /// OM: roles, transfer, lag, prepare, decommission, compaction.
    Om(Noun<om::OmCommand>),
    /// SCM: roles.
    Scm(Noun<scm::ScmCommand>),
    /// Deletions: status.
    Deletion(Noun<deletion::DeletionCommand>),
    /// Storage policies: usageinfo, check.
    #[command(name = "storagepolicy")]
    StoragePolicy(Noun<storagepolicy::StoragePolicyCommand>),
    /// Move keys to disks that match their storage policy.
    Mover(mover::Mover),
    /// Background services of every server: list, run, pause, resume.
    Service(Noun<service::ServiceCommand>),
    /// Print the DataNodes of each rack.
    #[command(name = "printTopology", visible_alias = "print-topology")]
    PrintTopology(topology::PrintTopology),
}

impl AdminCommand {
    /// Returns `true` if the causes of an error are to be printed.
    pub(crate) fn is_verbose(&self) -> bool {
        match self {
            Self::Datanode(noun) => noun.verbose,
            Self::Pipeline(noun) => noun.verbose,
            Self::Container(noun) => noun.verbose,
            Self::ContainerBalancer(noun) => noun.verbose,
            Self::ReplicationManager(noun) => noun.verbose,
            Self::Safemode(noun) => noun.verbose,
            Self::Om(noun) => noun.verbose,
            Self::Scm(noun) => noun.verbose,
            Self::Deletion(noun) => noun.verbose,
            Self::Service(noun) => noun.verbose,
            Self::StoragePolicy(noun) => noun.verbose,
            Self::Mover(_) => false,
            Self::PrintTopology(args) => args.verbose,
        }
    }
}

/// The SCM of a command.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScmArgs {
    /// Address of the SCM, host:port; by default the configured one, or the leader of several.
    #[arg(long, value_name = "HOST:PORT")]
    scm: Option<String>,
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

/// Runs a command.
pub(crate) async fn run(command: AdminCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        AdminCommand::Datanode(noun) => datanode::run(noun.command, conf).await,
        AdminCommand::Pipeline(noun) => pipeline::run(noun.command, conf).await,
        AdminCommand::Container(noun) => container::run(noun.command, conf).await,
        AdminCommand::ContainerBalancer(noun) => {
            containerbalancer::run(noun.command, noun.verbose, conf).await
        }
        AdminCommand::ReplicationManager(noun) => replicationmanager::run(noun.command, conf).await,
        AdminCommand::Safemode(noun) => safemode::run(noun.command, noun.verbose, conf).await,
        AdminCommand::Om(noun) => om::run(noun.command, conf).await,
        AdminCommand::Scm(noun) => scm::run(noun.command, conf).await,
        AdminCommand::Deletion(noun) => deletion::run(noun.command, conf).await,
        AdminCommand::Service(noun) => service::run(noun.command, conf).await,
        AdminCommand::StoragePolicy(noun) => storagepolicy::run(noun.command, conf).await,
        AdminCommand::Mover(args) => mover::run(args, conf).await,
        AdminCommand::PrintTopology(args) => topology::run(args, conf).await,
    }
}

/// A malformed message from SCM.
pub(crate) fn nonsense(e: types::WireError) -> ShellError {
    ShellError::Refused(format!("SCM sent an invalid answer: {e}"))
}
