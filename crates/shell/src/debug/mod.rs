//! `o3 debug`: what is stored where, and whether it is right.

mod check;
mod datanode;
mod ldb;
mod replicas;

use clap::Subcommand;
use config::Configuration;

use crate::{Noun, ShellError};

/// What is looked at.
#[derive(Debug, Clone, Subcommand)]
pub enum DebugCommand {
    /// Replicas of keys: verify, chunk-info.
    Replicas(Noun<replicas::ReplicasCommand>),
    /// Databases on disk: scan, list_column_families, value-schema, checkpoint.
    Ldb(ldb::LdbArgs),
    /// Data directories of a stopped DataNode: check-containers.
    Datanode(Noun<datanode::DatanodeCommand>),
    /// Find what defects of earlier releases may have left in the databases of a stopped OM and
    /// SCM. Nothing is changed.
    Check(check::Check),
}

impl DebugCommand {
    /// Whether causes of an error are wanted.
    pub(crate) fn is_verbose(&self) -> bool {
        match self {
            Self::Replicas(noun) => noun.verbose,
            Self::Ldb(args) => args.verbose,
            Self::Datanode(noun) => noun.verbose,
            Self::Check(args) => args.verbose,
        }
    }
}

/// Runs one.
pub(crate) async fn run(command: DebugCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        DebugCommand::Replicas(noun) => replicas::run(noun.command, conf).await,
        DebugCommand::Ldb(args) => ldb::run(args),
        DebugCommand::Datanode(noun) => datanode::run(&noun.command),
        DebugCommand::Check(args) => check::run(&args),
    }
}
