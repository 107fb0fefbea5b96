//! Errors of a server.

use std::io;
use std::path::PathBuf;

/// A server did not start, or one of its roles stopped by itself.
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
        /// The system's error.
        source: io::Error,
    },
    /// There are no free ports.
    #[error("no free ports for several OMs or SCMs on {bind}: {source}")]
    Ports {
        /// The interface.
        bind: String,
        /// The system's error.
        source: io::Error,
    },
    /// The number of OMs or SCMs of a service cannot be changed by a restart.
    #[error("the directory has {known} {role}s: start it with this number, or without the option")]
    Members {
        /// `OM` or `SCM`.
        role: &'static str,
        /// The existing number.
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
        /// Its number, from 1.
        number: usize,
        /// The cause.
        source: datanode::DatanodeError,
    },
    /// The S3 gateway did not start.
    #[error("S3 gateway: {0}")]
    S3(#[from] s3gateway::S3GatewayError),
    /// A role stopped by itself.
    #[error("{0}")]
    Stopped(String),
}
