//! A directory that belongs to one process, one cluster and one layout.
//!
//! `in_use.lock` is locked during the life of the process (the lock is released with the process,
//! however that ends); `VERSION` identifies the owner of the data. Opening refuses a directory in
//! use, another cluster's or another role's data, and a layout newer than the program.

mod lock;
mod permissions;
mod version;

use std::io;
use std::path::{Path, PathBuf};

use config::DirPermissions;
pub use lock::DataDir;
pub use permissions::make;
pub use version::{Expected, VersionFile};

/// Errors of opening a directory.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another process has locked it.
    #[error("{} is in use by another process{}: stop that first", dir.display(), holder.as_ref().map(|p| format!(" (pid {p})")).unwrap_or_default())]
    InUse {
        /// The directory.
        dir: PathBuf,
        /// The process, from the contents of the lock file.
        holder: Option<u32>,
    },
    /// The data belongs to another cluster.
    #[error("{} belongs to cluster {found}, not to {expected}: give each cluster its own directories", path.display())]
    ForeignCluster {
        /// The VERSION file.
        path: PathBuf,
        /// The cluster of the data.
        found: String,
        /// The cluster of this server.
        expected: String,
    },
    /// The data belongs to another role.
    #[error("{} holds data of a {found}, not of a {expected}: give each role its own directories", path.display())]
    ForeignRole {
        /// The VERSION file.
        path: PathBuf,
        /// The role of the data.
        found: String,
        /// The role of this server.
        expected: String,
    },
    /// The data was written by a later release.
    #[error("{} has layout version {found}, this program supports up to {known}: use the release that wrote it, or a later one", path.display())]
    NewerLayout {
        /// The VERSION file.
        path: PathBuf,
        /// The layout of the data.
        found: u32,
        /// The latest supported layout.
        known: u32,
    },
    /// The VERSION file is malformed.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The VERSION file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The permissions of the directory cannot be set.
    #[error("{} cannot set permissions {permissions}: {source}: make the server's user its owner, or set the configured permissions to the actual ones", path.display())]
    Permissions {
        /// The directory.
        path: PathBuf,
        /// The configured permissions.
        permissions: DirPermissions,
        /// The system's error.
        source: io::Error,
    },
    /// An error of the system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl DataDirError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> DataDirError + '_ {
        move |source| DataDirError::Io { path: path.to_path_buf(), source }
    }
}
