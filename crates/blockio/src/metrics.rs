//! Metrics of a disk, counted without locks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Kinds of operations with separate metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// Writes, direct and buffered.
    Write,
    /// Reads by a worker: uncached or long.
    Read,
    /// Reads served from the page cache on the calling thread.
    CachedRead,
    /// Syncs.
    Sync,
    /// Punching holes.
    Punch,
    /// Removing and truncating files.
    Remove,
}

impl OpKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Write, Self::Read, Self::CachedRead, Self::Sync, Self::Punch, Self::Remove];

    /// Label in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::CachedRead => "cached_read",
            Self::Sync => "sync",
            Self::Punch => "punch",
            Self::Remove => "remove",
        }
    }
}

/// Upper bounds of the latency buckets, in microseconds; one more bucket has the rest.
pub const LATENCY_BOUNDS_US: [u64; 10] =
    [10, 50, 100, 250, 500, 1_000, 5_000, 20_000, 100_000, 1_000_000];

#[derive(Default)]
struct Counters {
    ops: AtomicU64,
    errors: AtomicU64,
    bytes: AtomicU64,
    nanos: AtomicU64,
    latency: [AtomicU64; LATENCY_BOUNDS_US.len() + 1],
}

/// Metrics of one kind of operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpMetrics {
    /// Operations finished, failed ones included.
    pub ops: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Total time in nanoseconds, without the queue.
    pub nanos: u64,
    /// Operations per latency bucket of [`LATENCY_BOUNDS_US`].
    pub latency: [u64; LATENCY_BOUNDS_US.len() + 1],
}

/// Live metrics of a disk.
#[derive(Default)]
pub struct Metrics {
    kinds: [Counters; OpKind::ALL.len()],
    queued: AtomicU64,
    direct_bytes: AtomicU64,
    late: AtomicU64,
    refused: AtomicU64,
    dropped: AtomicU64,
    replaced: AtomicU64,
}

impl Metrics {
    /// Current metrics of one kind of operation.
    pub fn of(&self, kind: OpKind) -> OpMetrics {
        let counters = &self.kinds[kind as usize];
        let load = |n: &AtomicU64| n.load(Ordering::Relaxed);
        OpMetrics {
            ops: load(&counters.ops),
            errors: load(&counters.errors),
            bytes: load(&counters.bytes),
            nanos: load(&counters.nanos),
            latency: std::array::from_fn(|i| load(&counters.latency[i])),
        }
    }

    /// Operations queued or in progress.
    pub fn queued(&self) -> u64 {
        self.queued.load(Ordering::Relaxed)
    }

    /// Bytes written by direct I/O.
    pub fn direct_bytes(&self) -> u64 {
        self.direct_bytes.load(Ordering::Relaxed)
    }

    /// Late reads that were retried on a new worker.
    pub fn late_reads(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// Reads that failed because they were late.
    pub fn refused_reads(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Number of reads that were skipped because their callers no longer wait.
    pub fn dropped_reads(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Workers started in addition to hanging ones.
    pub fn replaced_workers(&self) -> u64 {
        self.replaced.load(Ordering::Relaxed)
    }

    pub(crate) fn late(&self) {
        self.late.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn replaced(&self) {
        self.replaced.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count(&self, kind: OpKind, took: Duration, bytes: usize, ok: bool) {
        let counters = &self.kinds[kind as usize];
        let micros = took.as_micros() as u64;
        let bucket = LATENCY_BOUNDS_US.partition_point(|bound| *bound < micros);
        counters.ops.fetch_add(1, Ordering::Relaxed);
        counters.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        counters.nanos.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
        counters.latency[bucket].fetch_add(1, Ordering::Relaxed);
        if !ok {
            counters.errors.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn entered(&self) {
        self.queued.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn left(&self) {
        self.queued.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn wrote_direct(&self, bytes: usize) {
        self.direct_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}
