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
pub(crate) mod scm_client;
mod servers;
mod service;
mod storagepolicy;
mod topology;

use clap::Subcommand;
use config::Configuration;

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
