//! What is counted.

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

/// What a cache did since its start, and has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Chunks that came in because they were read.
    pub from_reads: u64,
    /// Chunks that came in when they were written.
    pub from_writes: u64,
    /// Reads that were answered from here.
    pub hits: u64,
    /// Reads that were not.
    pub misses: u64,
    /// Chunks that made room for others.
    pub evictions: u64,
    /// Chunks that were here and could not be read in time, or had wrong bytes.
    pub load_failures: u64,
    /// Chunks that did not come in because too many waited, or there was no room.
    pub left_out: u64,
    /// Chunks that are here.
    pub chunks: u64,
    /// Their bytes.
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

/// How a directory is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryFigures {
    /// The directory.
    pub path: PathBuf,
    /// Why it is not used any more, if so.
    pub failure: Option<String>,
    /// Chunks in it.
    pub chunks: u64,
    /// Their bytes.
    pub bytes: u64,
}
