//! The flushes of a disk, by their numbers.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the flushes of a disk.
#[derive(Debug, Default)]
pub(crate) struct Flushes {
    begun: AtomicU64,
    done: AtomicU64,
}

impl Flushes {
    /// Begins one after all others; returns its number.
    pub(crate) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The one of that number went well.
    pub(crate) fn end(&self, number: u64) {
        self.done.fetch_max(number, Ordering::SeqCst);
    }

    /// The first one that covers what was written up to now.
    pub(crate) fn next(&self) -> u64 {
        self.begun.load(Ordering::SeqCst) + 1
    }

    /// Returns `true` if one that covers it, or a later one, succeeded.
    pub(crate) fn has_ended(&self, number: u64) -> bool {
        self.done.load(Ordering::SeqCst) >= number
    }
}
