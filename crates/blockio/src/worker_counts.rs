//! How many workers a disk has, and which of them hang.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

/// How many workers there are.
#[derive(Default)]
struct Counts {
    live: usize,
    /// Of them those that hang, as far as is known.
    stuck: usize,
    /// Number of the next one, for its name.
    next: usize,
}

/// The count of a disk's workers, without the threads.
#[derive(Default)]
pub(crate) struct WorkerCounts {
    counts: Mutex<Counts>,
}

/// How far a worker is with an attempt that somebody may stop waiting for.
#[derive(Default)]
pub(crate) struct Progress {
    /// Nanoseconds by the disk's clock when the worker last got on; 0 when none has begun.
    last: AtomicU64,
    /// Changed under the lock of the counts only.
    is_done: AtomicBool,
    /// Changed under the lock of the counts only.
    is_stuck: AtomicBool,
}

impl Progress {
    /// When the worker last got on, in nanoseconds by the disk's clock.
    pub(crate) fn last(&self) -> Option<u64> {
        Some(self.last.load(Ordering::Acquire)).filter(|last| *last > 0)
    }

    /// The worker got on.
    pub(crate) fn note(&self, now: u64) {
        self.last.store(now.max(1), Ordering::Release);
    }
}

impl WorkerCounts {
    /// Workers that hang.
    pub(crate) fn stuck(&self) -> usize {
        self.counts.lock().stuck
    }

    /// The worker of an attempt hangs, unless it is not begun or done. It counts no more until it
    /// comes back.
    pub(crate) fn give_up(&self, progress: &Progress) {
        let mut counts = self.counts.lock();
        let hangs = progress.last().is_some() && !progress.is_done.load(Ordering::Relaxed);
        if hangs && !progress.is_stuck.swap(true, Ordering::Relaxed) {
            counts.stuck += 1;
        }
    }

    /// The worker of an attempt came back.
    pub(crate) fn finish(&self, progress: &Progress) {
        let mut counts = self.counts.lock();
        progress.is_done.store(true, Ordering::Relaxed);
        if progress.is_stuck.swap(false, Ordering::Relaxed) {
            counts.stuck -= 1;
        }
    }

    /// Room for one more worker, up to `most` of them; its number.
    pub(crate) fn enter(&self, most: usize) -> Option<usize> {
        let mut counts = self.counts.lock();
        if counts.live >= most {
            return None;
        }
        counts.live += 1;
        counts.next += 1;
        Some(counts.next - 1)
    }

    /// A worker ended.
    pub(crate) fn leave(&self) {
        self.counts.lock().live -= 1;
    }

    /// Takes a worker off the count when there are more than `wanted` besides those that hang.
    pub(crate) fn leave_surplus(&self, wanted: usize) -> bool {
        let mut counts = self.counts.lock();
        let is_surplus = counts.live - counts.stuck > wanted;
        if is_surplus {
            counts.live -= 1;
        }
        is_surplus
    }
}
