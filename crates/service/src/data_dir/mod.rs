//! A directory that belongs to one process, one cluster and one layout.
//!
//! `in_use.lock` is locked while the process lives (the lock goes with the process, however that
//! ends); `VERSION` says whose data this is. Opening refuses a directory in use, another cluster's
//! or another role's data, and a layout newer than the program.

mod lock;
mod permissions;
mod version;

use std::io;
use std::path::{Path, PathBuf};

use config::DirPermissions;
pub use lock::DataDir;
pub use permissions::make;
pub use version::{Expected, VersionFile};

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another process has it.
    #[error("{} is in use by another process{}: stop that first", dir.display(), holder.as_ref().map(|p| format!(" (pid {p})")).unwrap_or_default())]
    InUse {
        /// The directory.
        dir: PathBuf,
        /// The process, as it wrote itself down.
        holder: Option<u32>,
    },
    /// The data is of another cluster.
    #[error("{} belongs to cluster {found}, not to {expected}: give each cluster its own directories", path.display())]
    ForeignCluster {
        /// The VERSION file.
        path: PathBuf,
        /// The cluster the data is of.
        found: String,
        /// The cluster we are of.
        expected: String,
    },
    /// The data is of another role.
    #[error("{} holds data of a {found}, not of a {expected}: give each role its own directories", path.display())]
    ForeignRole {
        /// The VERSION file.
        path: PathBuf,
        /// The role the data is of.
        found: String,
        /// The role we have.
        expected: String,
    },
    /// The data was written by a later release.
    #[error("{} has layout version {found}, this program knows up to {known}: use the release that wrote it, or a later one", path.display())]
    NewerLayout {
        /// The VERSION file.
        path: PathBuf,
        /// The layout of the data.
        found: u32,
        /// The latest layout we know.
        known: u32,
    },
    /// The VERSION file cannot be understood.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The VERSION file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Its permissions cannot be set.
    #[error("{} cannot get the permissions {permissions}: {source}: have the server's user own it, or set the key of its permissions to what it has", path.display())]
    Permissions {
        /// The directory.
        path: PathBuf,
        /// What they are to be.
        permissions: DirPermissions,
        /// What the system said.
        source: io::Error,
    },
    /// The system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was read or written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl DataDirError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> DataDirError + '_ {
        move |source| DataDirError::Io { path: path.to_path_buf(), source }
    }
}
