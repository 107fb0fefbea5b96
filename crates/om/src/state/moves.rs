//! Reads that go through directories see them as they were at one moment.
//!
//! A path is resolved row by row. When a directory moves or goes in between, the rows read before
//! and after may never have been there together. New directories and files do no such harm. So
//! the rounds that take directories away are counted, and a read during which one was written is
//! done again; one that has no luck keeps such rounds waiting for the moment that it takes.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use parking_lot::{RwLock, RwLockWriteGuard};

/// Times a read is tried before it keeps moves waiting.
const TRIES: usize = 3;

/// Counts rounds in which directories move.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// Odd while such a round is written.
    epoch: AtomicU64,
    gate: RwLock<()>,
}

/// A round in which directories move, being written.
pub(crate) struct Moving<'a> {
    moves: &'a Moves,
    _gate: RwLockWriteGuard<'a, ()>,
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        self.moves.epoch.fetch_add(1, Ordering::AcqRel);
    }
}

impl Moves {
    /// To be held from before such a round is written until everybody can see all of it.
    pub(crate) fn begin(&self) -> Moving<'_> {
        let gate = self.gate.write();
        self.epoch.fetch_add(1, Ordering::AcqRel);
        Moving { moves: self, _gate: gate }
    }

    /// The result of a `read` during which no directory moved.
    pub(crate) fn still<T>(&self, mut read: impl FnMut() -> T) -> T {
        for _ in 0..TRIES {
            let before = self.epoch.load(Ordering::Acquire);
            if before % 2 == 1 {
                break;
            }
            let result = read();
            fence(Ordering::Acquire);
            if self.epoch.load(Ordering::Relaxed) == before {
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
        let moves = Moves::default();
        let mut reads = 0;
        let seen = moves.still(|| {
            reads += 1;
            if reads == 1 {
                drop(moves.begin());
            }
            reads
        });
        assert_eq!(seen, 2);
        let mut reads = 0;
        let seen = moves.still(|| {
            reads += 1;
            if reads <= TRIES {
                drop(moves.begin());
            } else {
                assert!(moves.gate.try_write().is_none(), "moves wait now");
            }
            reads
        });
        assert_eq!(seen, TRIES + 1);
    }
}
