//! Errors that stop a DataNode from starting.

use std::path::PathBuf;

use crate::disk_balancer::ParameterError;
use crate::id_file::YamlError;
use containerstore::StorageError;

/// Error that prevented a DataNode's start, or stopped it.
#[derive(Debug, thiserror::Error)]
pub enum DatanodeError {
    /// `hdds.datanode.dir` is empty.
    #[error("hdds.datanode.dir is not set: name at least one data directory")]
    NoDataDir,
    /// An invalid setting.
    #[error("{key} is {value:?}: {reason}")]
    Setting {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// The expected value.
        reason: &'static str,
    },
    /// An invalid setting of the pace of background work.
    #[error(transparent)]
    Pace(#[from] service::PaceError),
    /// An invalid setting of the disk balancer.
    #[error("hdds.datanode.disk.balancer: {0}")]
    DiskBalancer(ParameterError),
    /// A directory is in use, of another cluster or of a newer layout.
    #[error(transparent)]
    Directory(#[from] service::DataDirError),
    /// `datanode.id` cannot be read or written.
    #[error("{path}: {source}")]
    IdentityFile {
        /// The file.
        path: PathBuf,
        /// Error of the file system.
        source: std::io::Error,
    },
    /// `datanode.id` is malformed.
    #[error("{path}: {source}")]
    Identity {
        /// The file.
        path: PathBuf,
        /// The error in it.
        source: YamlError,
    },
    /// The audit log could not be opened.
    #[error("audit log {path}: {source}")]
    AuditLog {
        /// The file.
        path: PathBuf,
        /// Error of the file system.
        source: std::io::Error,
    },
    /// An endpoint could not be opened.
    #[error(transparent)]
    Bind(#[from] service::BindError),
    /// The cache of first chunks could not be opened.
    #[error("trioxide.datanode.cache.dirs: {0}")]
    Cache(#[from] chunkcache::CacheError),
    /// The disks could not be opened.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// More data directories cannot be opened than may be.
    #[error("data directories: {why}: {reasons}")]
    TooFewDisks {
        /// Their number and the limit.
        why: String,
        /// Errors of opening them.
        reasons: String,
    },
    /// Raft could not be started.
    #[error(transparent)]
    Raft(#[from] multiraft::HostError),
    /// A disk's Raft log could not be opened.
    #[error(transparent)]
    RaftLog(#[from] multiraft::LogError),
    /// SCM belongs to another cluster.
    #[error("SCM is of cluster {scm}, but this datanode holds data of cluster {ours}")]
    ForeignCluster {
        /// SCM's cluster id.
        scm: String,
        /// The cluster id on the disks.
        ours: String,
    },
    /// SCM does not let this DataNode in.
    #[error("SCM does not permit this datanode: {0}")]
    NotPermitted(String),
    /// The DataNode was shut down before it was ready.
    #[error("the datanode was shut down")]
    Shutdown,
}
