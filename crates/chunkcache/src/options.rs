//! Options of a cache.

use std::path::PathBuf;
use std::time::Duration;

/// Options of a cache.
#[derive(Debug, Clone)]
pub struct CacheOptions {
    /// One directory on each fast disk.
    pub dirs: Vec<PathBuf>,
    /// Capacity of each directory in bytes.
    pub capacity: u64,
    /// Number of remembered reads of uncached blocks: a chunk is inserted when its block is read
    /// again while it is among them.
    pub touches: usize,
    /// Timeout of a read from a cache disk, after which it is a miss.
    pub read_limit: Duration,
    /// Maximum bytes queued for writing to a directory; excess chunks are skipped.
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
