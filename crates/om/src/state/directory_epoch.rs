//! Reads that go through directories see them as they were at one moment.
//!
//! A path is resolved row by row. When a directory is moved or deleted in between, the rows read
//! before and after may never have existed together. New directories and files do no such harm. So
//! the rounds that remove directories are counted, and a read during which one was written is
//! repeated; one that fails repeatedly blocks such rounds while it runs.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use parking_lot::{RwLock, RwLockWriteGuard};

/// Times a read is tried before it blocks moves.
const TRIES: usize = 3;

/// Counts rounds in which directories move: a sequence lock that falls back to a lock.
#[derive(Debug, Default)]
pub(crate) struct DirectoryEpoch {
    /// Odd while such a round is written.
    count: AtomicU64,
    gate: RwLock<()>,
}

/// A round in which directories move, being written.
pub(crate) struct MoveGuard<'a> {
    epoch: &'a DirectoryEpoch,
    _gate: RwLockWriteGuard<'a, ()>,
}

impl Drop for MoveGuard<'_> {
    fn drop(&mut self) {
        self.epoch.count.fetch_add(1, Ordering::AcqRel);
    }
}

impl DirectoryEpoch {
    /// To be held from before such a round is written until every reader can see all of it.
    pub(crate) fn begin_move(&self) -> MoveGuard<'_> {
        let gate = self.gate.write();
        self.count.fetch_add(1, Ordering::AcqRel);
        MoveGuard { epoch: self, _gate: gate }
    }

    /// The result of a `read` during which no directory moved.
    pub(crate) fn read_consistent<T>(&self, mut read: impl FnMut() -> T) -> T {
        for _ in 0..TRIES {
            let before = self.count.load(Ordering::Acquire);
            if before % 2 == 1 {
                break;
            }
            let result = read();
            fence(Ordering::Acquire);
            if self.count.load(Ordering::Relaxed) == before {
                return result;
            }
        }
        let _gate = self.gate.read();
        read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_with_a_move_in_between_is_done_again() {
        let epoch = DirectoryEpoch::default();
        let mut reads = 0;
        let seen = epoch.read_consistent(|| {
            reads += 1;
            if reads == 1 {
                drop(epoch.begin_move());
            }
            reads
        });
        assert_eq!(seen, 2);
        let mut reads = 0;
        let seen = epoch.read_consistent(|| {
            reads += 1;
            if reads <= TRIES {
                drop(epoch.begin_move());
            } else {
                assert!(epoch.gate.try_write().is_none(), "moves wait now");
            }
            reads
        });
        assert_eq!(seen, TRIES + 1);
    }
}
