//! What a cache is opened with.

use std::path::PathBuf;
use std::time::Duration;

/// What a cache is opened with.
#[derive(Debug, Clone)]
pub struct CacheOptions {
    /// A directory on each fast disk.
    pub dirs: Vec<PathBuf>,
    /// Bytes of chunks in each directory.
    pub capacity: u64,
    /// Blocks that are remembered as read without being here: a chunk comes in when its block is
    /// read again while it is among them.
    pub touches: usize,
    /// How long a disk of the cache may give nothing to a read until that is a miss.
    pub read_limit: Duration,
    /// Bytes that may wait to be written to a directory; what comes beyond them is left out.
    pub queue_bytes: usize,
}

impl CacheOptions {
    /// Defaults for these directories.
    pub fn new(dirs: Vec<PathBuf>, capacity: u64) -> Self {
        Self {
            dirs,
            capacity,
            touches: 1 << 16,
            read_limit: Duration::from_millis(50),
            queue_bytes: 64 << 20,
        }
    }
}
