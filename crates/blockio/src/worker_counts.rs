//! Counts of a disk's workers, including hanging ones.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

/// Numbers of workers.
#[derive(Default)]
struct Counts {
    live: usize,
    /// Those of them known to hang.
    stuck: usize,
    /// Number of the next one, for its name.
    next: usize,
}

/// The counts of a disk's workers, without the threads.
#[derive(Default)]
pub(crate) struct WorkerCounts {
    counts: Mutex<Counts>,
}

/// Progress of a worker in an attempt that its caller may abandon.
#[derive(Default)]
pub(crate) struct Progress {
    /// Nanoseconds of the disk's clock at the worker's last progress; 0 before the start.
    last: AtomicU64,
    /// Changed only under the lock of the counts.
    is_done: AtomicBool,
    /// Changed only under the lock of the counts.
    is_stuck: AtomicBool,
}

impl Progress {
    /// Time of the worker's last progress, in nanoseconds of the disk's clock.
    pub(crate) fn last(&self) -> Option<u64> {
        Some(self.last.load(Ordering::Acquire)).filter(|last| *last > 0)
    }

    /// Records progress.
    pub(crate) fn note(&self, now: u64) {
        self.last.store(now.max(1), Ordering::Release);
    }
}

impl WorkerCounts {
    /// Number of hanging workers.
    pub(crate) fn stuck(&self) -> usize {
        self.counts.lock().stuck
    }

    /// Marks the worker of an attempt as hanging, unless the attempt has not begun or is done. It
    /// does not count until it returns.
    pub(crate) fn give_up(&self, progress: &Progress) {
        let mut counts = self.counts.lock();
        let hangs = progress.last().is_some() && !progress.is_done.load(Ordering::Relaxed);
        if hangs && !progress.is_stuck.swap(true, Ordering::Relaxed) {
            counts.stuck += 1;
        }
    }

    /// Marks the attempt as finished: its worker is available again.
    pub(crate) fn finish(&self, progress: &Progress) {
        let mut counts = self.counts.lock();
        progress.is_done.store(true, Ordering::Relaxed);
        if progress.is_stuck.swap(false, Ordering::Relaxed) {
            counts.stuck -= 1;
        }
    }

    /// Reserves one more worker, up to `most`; returns its number.
    pub(crate) fn enter(&self, most: usize) -> Option<usize> {
        let mut counts = self.counts.lock();
        if counts.live >= most {
            return None;
        }
        counts.live += 1;
        counts.next += 1;
        Some(counts.next - 1)
    }

    /// Records the end of a worker.
    pub(crate) fn leave(&self) {
        self.counts.lock().live -= 1;
    }

    /// Removes a worker from the count if there are more than `wanted` besides hanging ones.
    pub(crate) fn leave_surplus(&self, wanted: usize) -> bool {
        let mut counts = self.counts.lock();
        let is_surplus = counts.live - counts.stuck > wanted;
        if is_surplus {
            counts.live -= 1;
        }
        is_surplus
    }
}
