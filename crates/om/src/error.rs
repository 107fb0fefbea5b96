//! Reasons for which OM does not start or must stop.

use std::path::{Path, PathBuf};
use std::time::Duration;

use multiraft::LogPosition;
use namespace::ViewError;

/// Starting or running OM failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its directory cannot be used.
    #[error(transparent)]
    Directory(#[from] service::DataDirError),
    /// The network topology schema cannot be used.
    #[error(transparent)]
    Schema(#[from] topology::SchemaError),
    /// The settings of the queue of requests contradict each other.
    #[error(transparent)]
    Queue(#[from] limits::OptionsError),
    /// An endpoint cannot be opened.
    #[error(transparent)]
    Bind(#[from] service::BindError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] metastore::Error),
    /// A row cannot be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// Raft did not start, or this OM does not lead, or was not admitted to its service.
    #[error("OM: {0}")]
    Replicated(#[from] replicated::Error),
    /// A thread of blocking work ended early.
    #[error("start was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The position of the last applied entry makes no sense.
    #[error("om.db has no valid log position: {0}; restore the directory")]
    Position(String),
    /// A received snapshot is not a database.
    #[error("the received snapshot is not a database")]
    SnapshotKind,
    /// A snapshot would set the tables back.
    #[error(
        "received a snapshot at {}#{}, older than the tables at {}#{}", at.term, at.index, here.term, here.index
    )]
    OldSnapshot {
        /// Position of the snapshot.
        at: LogPosition,
        /// Up to where the tables go.
        here: LogPosition,
    },
    /// A snapshot differs from its sender's description.
    #[error(
        "snapshot is at {}#{}, but its sender reported {}#{}", held.term, held.index, at.term, at.index
    )]
    SnapshotBeyond {
        /// Position according to its rows.
        held: LogPosition,
        /// Position according to its sender.
        at: LogPosition,
    },
    /// Readers did not finish while a snapshot waited to be installed.
    #[error("readers still use the tables after {0:?}")]
    Busy(Duration),
    /// The tables are closed.
    #[error("the tables are closed")]
    Closed,
    /// No directory is configured.
    #[error("set ozone.om.db.dirs or ozone.metadata.dirs: OM needs a directory")]
    NoDirectory,
    /// The cluster id is unknown, and SCM cannot be reached.
    #[error("cannot get the cluster id from SCM at {address}: {cause}; start SCM first")]
    NoCluster {
        /// Address of SCM.
        address: String,
        /// Cause of the failure.
        cause: String,
    },
    /// SCM belongs to another cluster.
    #[error(
        "SCM at {address} belongs to cluster {found}, this OM to {expected}: check ozone.scm.names or use another directory"
    )]
    ForeignScm {
        /// Address of SCM.
        address: String,
        /// Its cluster.
        found: String,
        /// Ours.
        expected: String,
    },
    /// The database is Apache Ozone's, and cannot be taken over.
    #[error("{} was written by Apache Ozone and cannot be taken over: {reason}", path.display())]
    TakeOver {
        /// The database.
        path: PathBuf,
        /// Reason for which it cannot be taken over.
        reason: String,
    },
    /// A setting of the pace of background work makes no sense.
    #[error(transparent)]
    Pace(#[from] service::PaceError),
    /// A setting makes no sense.
    #[error("{key}: {reason}")]
    Setting {
        /// The key.
        key: &'static str,
        /// Defect of the value.
        reason: String,
    },
    /// A write of the first start was refused.
    #[error("first start: {0}")]
    FirstStart(framed::Status),
}

impl Error {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }
}
