//! Why OM does not start or must stop.

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
    /// Raft did not start, or this OM does not lead, or was not let into its service.
    #[error("OM: {0}")]
    Replicated(#[from] replicated::Error),
    /// A thread of blocking work ended early.
    #[error("start was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The position of the last applied entry makes no sense.
    #[error("om.db does not say what it holds: {0}; restore the directory")]
    Position(String),
    /// A snapshot came as something else than a database.
    #[error("the snapshot that came is no database")]
    SnapshotKind,
    /// A snapshot would set the tables back.
    #[error(
        "a snapshot of the tables up to {}#{} came, and they are at {}#{}", at.term, at.index, here.term, here.index
    )]
    OldSnapshot {
        /// Up to where it goes.
        at: LogPosition,
        /// Up to where the tables go.
        here: LogPosition,
    },
    /// A snapshot is not what its sender says.
    #[error(
        "a snapshot holds {}#{}, its sender says {}#{}", held.term, held.index, at.term, at.index
    )]
    SnapshotBeyond {
        /// Up to where it goes by its rows.
        held: LogPosition,
        /// Up to where it is said to go.
        at: LogPosition,
    },
    /// Readers did not finish while a snapshot waited to be installed.
    #[error("readers kept the tables in use for {0:?}")]
    Busy(Duration),
    /// The tables are closed.
    #[error("the tables are closed")]
    Closed,
    /// No directory is configured.
    #[error("set ozone.om.db.dirs or ozone.metadata.dirs: OM needs a directory")]
    NoDirectory,
    /// The cluster is not known yet and SCM cannot be asked.
    #[error("cannot learn the cluster id of SCM at {address}: {cause}; start SCM first")]
    NoCluster {
        /// Where SCM was looked for.
        address: String,
        /// Why it did not answer.
        cause: String,
    },
    /// SCM belongs to another cluster.
    #[error(
        "SCM at {address} belongs to cluster {found}, this OM to {expected}: check ozone.scm.names or use another directory"
    )]
    ForeignScm {
        /// Where SCM is.
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
        /// What is in the way.
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
        /// What is wrong with it.
        reason: String,
    },
    /// What the first start has to write was refused.
    #[error("first start: {0}")]
    FirstStart(framed::Status),
}

impl Error {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }
}
