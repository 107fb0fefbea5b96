//! Counts of copies from and to this node.

use std::sync::atomic::{AtomicU64, Ordering};

/// Copies in one direction, since the start.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Copies that are whole.
    pub(crate) done: AtomicU64,
    /// Copies that failed permanently.
    pub(crate) failed: AtomicU64,
    /// Bytes of chunks, also of those that failed.
    pub(crate) bytes: AtomicU64,
}

impl Counts {
    /// A copy ended.
    pub(crate) fn note_end(&self, is_whole: bool) {
        let count = if is_whole { &self.done } else { &self.failed };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Chunks were copied.
    pub(crate) fn note_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}
