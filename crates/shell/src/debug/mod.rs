//! `o3 debug`: inspection of stored data.

mod check;
mod datanode;
mod ldb;
mod replicas;

use clap::Subcommand;
use config::Configuration;

use crate::{Noun, ShellError};

/// Commands for stored data.
#[derive(Debug, Clone, Subcommand)]
pub enum DebugCommand {
    /// Replicas of keys: verify, chunk-info.
    Replicas(Noun<replicas::ReplicasCommand>),
    /// Databases on disk: scan, list_column_families, value-schema, checkpoint.
    Ldb(ldb::LdbArgs),
    /// Data directories of a stopped DataNode: check-containers.
    Datanode(Noun<datanode::DatanodeCommand>),
    /// Find traces of defects of earlier releases in the databases of a stopped OM and SCM. Nothing
    /// is changed.
    Check(check::Check),
}

impl DebugCommand {
    /// Returns `true` if the causes of an error are to be printed.
    pub(crate) fn is_verbose(&self) -> bool {
        match self {
            Self::Replicas(noun) => noun.verbose,
            Self::Ldb(args) => args.verbose,
            Self::Datanode(noun) => noun.verbose,
            Self::Check(args) => args.verbose,
        }
    }
}

/// Runs a command.
pub(crate) async fn run(command: DebugCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        DebugCommand::Replicas(noun) => replicas::run(noun.command, conf).await,
        DebugCommand::Ldb(args) => ldb::run(args),
        DebugCommand::Datanode(noun) => datanode::run(&noun.command),
        DebugCommand::Check(args) => check::run(&args),
    }
}
