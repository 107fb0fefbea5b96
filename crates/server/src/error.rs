//! Why a server did not start.

use std::io;
use std::path::PathBuf;

/// A server did not start, or a role of it stopped by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The directory is in use.
    #[error(transparent)]
    DataDir(#[from] service::DataDirError),
    /// The directory cannot be read.
    #[error("{}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There are no free ports.
    #[error("no ports for several OMs or SCMs on {bind}: {source}")]
    Ports {
        /// The interface.
        bind: String,
        /// What the system said.
        source: io::Error,
    },
    /// A service of OMs or SCMs does not grow or shrink by itself.
    #[error("the directory has {known} {role}s: start it with as many, or say no number")]
    Members {
        /// `OM` or `SCM`.
        role: &'static str,
        /// How many there are.
        known: usize,
    },
    /// SCM did not start.
    #[error("SCM: {0}")]
    Scm(#[from] scm::ScmError),
    /// OM did not start.
    #[error("OM: {0}")]
    Om(#[from] om::Error),
    /// A DataNode did not start.
    #[error("DataNode {number}: {source}")]
    Datanode {
        /// Which one, from 1.
        number: usize,
        /// Why.
        source: datanode::DatanodeError,
    },
    /// The S3 gateway did not start.
    #[error("S3 gateway: {0}")]
    S3(#[from] s3gateway::S3GatewayError),
    /// A role stopped by itself.
    #[error("{0}")]
    Stopped(String),
}
