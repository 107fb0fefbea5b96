//! Metrics of the cache.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub from_reads: AtomicU64,
    pub from_writes: AtomicU64,
    pub hits: AtomicU64,
    pub misses: AtomicU64,
    pub evictions: AtomicU64,
    pub load_failures: AtomicU64,
    pub left_out: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Metrics of a cache: counters since its start, and its size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Chunks inserted after reads.
    pub from_reads: u64,
    /// Chunks inserted after writes.
    pub from_writes: u64,
    /// Reads served from the cache.
    pub hits: u64,
    /// Reads not served from the cache.
    pub misses: u64,
    /// Evicted chunks.
    pub evictions: u64,
    /// Cached chunks that could not be read in time, or had wrong data.
    pub load_failures: u64,
    /// Chunks not inserted because the queue or the disk was full.
    pub left_out: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Bytes of chunks.
    pub bytes: u64,
}

impl Counters {
    pub(crate) fn figures(&self, (chunks, bytes): (u64, u64)) -> Figures {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Figures {
            from_reads: of(&self.from_reads),
            from_writes: of(&self.from_writes),
            hits: of(&self.hits),
            misses: of(&self.misses),
            evictions: of(&self.evictions),
            load_failures: of(&self.load_failures),
            left_out: of(&self.left_out),
            chunks,
            bytes,
        }
    }
}

/// Status of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryFigures {
    /// The directory.
    pub path: PathBuf,
    /// The reason why it is no longer used, if so.
    pub failure: Option<String>,
    /// Number of chunks in it.
    pub chunks: u64,
    /// Bytes of chunks in it.
    pub bytes: u64,
}
