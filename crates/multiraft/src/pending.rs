//! Limits on a group's pending proposals.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The pending proposals of a group, and their limits.
pub(crate) struct Pending {
    bytes: AtomicUsize,
    count: AtomicUsize,
    max_bytes: usize,
    max_proposals: usize,
}

impl Pending {
    pub(crate) fn new(max_bytes: usize, max_proposals: usize) -> Self {
        let (bytes, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { bytes, count, max_bytes, max_proposals }
    }

    /// Reserves space for a proposal of that many bytes; `None` if the limits are reached.
    pub(crate) fn acquire(self: &Arc<Self>, bytes: usize) -> Option<Permit> {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let permit = Permit { pending: self.clone(), bytes };
        // One proposal always fits, however large.
        let full = count >= self.max_proposals || (before > 0 && before + bytes > self.max_bytes);
        (!full).then_some(permit)
    }
}

/// A proposal's share of the limits; released when it is answered.
pub(crate) struct Permit {
    pending: Arc<Pending>,
    bytes: usize,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.pending.count.fetch_sub(1, Ordering::Relaxed);
        self.pending.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
