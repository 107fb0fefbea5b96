//! Why a cache cannot be opened.

use std::io;
use std::path::PathBuf;

use blockio::IoError;

/// Why a cache cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// A directory cannot be made or listed.
    #[error("cannot open the cache directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its disk cannot be worked with.
    #[error(transparent)]
    Disk(#[from] IoError),
    /// Two directories are the same.
    #[error("{} is named twice as a cache directory", .0.display())]
    Twice(PathBuf),
    /// Files of somebody else are in a directory.
    #[error("{} has {file:?}, which is no file of a cache: is it the right directory?", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// The first such file.
        file: String,
    },
}
