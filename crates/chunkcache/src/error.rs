//! Errors of opening a cache.

use std::io;
use std::path::PathBuf;

use blockio::IoError;

/// Errors of opening a cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// A directory cannot be created or listed.
    #[error("cannot open the cache directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Its disk cannot be used.
    #[error(transparent)]
    Disk(#[from] IoError),
    /// A directory is listed twice.
    #[error("{} is listed twice as a cache directory", .0.display())]
    Twice(PathBuf),
    /// A directory contains other files.
    #[error("{} contains {file:?}, which is not a cache file: check the configured directory", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// The first such file.
        file: String,
    },
}
