//! Since when a replica that does not lead is known to lack nothing.
//!
//! A heartbeat says how far the leader is. When it was sent its receiver cannot know: it may have
//! waited in a slow network, or in the socket of a process that was stopped. So a replica puts its
//! own clock into each answer, the leader returns the last one that it got, and what a heartbeat
//! says was so *after* that. Once the replica has applied as much it lacks nothing that was
//! committed before. Clocks are never compared with each other.
//!
//! The price is that a replica which keeps up knows it of a moment one to two heartbeats ago. A
//! leader that was replaced and does not know it yet goes on for an election timeout, which adds to
//! the bound.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// How fresh a follower's state is. Written by the group's loop, read by any thread; times are
/// nanoseconds of the host. One cache line, for every heartbeat of every group comes by.
#[repr(align(64))]
pub(crate) struct Freshness {
    /// The highest entry that a leader called committed; entries of it may be on their way.
    pub(crate) commit: AtomicU64,
    /// When a leader was last heard of; 0: never.
    pub(crate) heard: AtomicU64,
    /// Added to times that leave this process: what a former one wrote must not be taken for now.
    offset: u64,
    /// Term in which `index` was heard.
    term: AtomicU64,
    /// When all that was committed then was applied here; 0: never.
    proved: AtomicU64,
    /// What a leader had...
    index: AtomicU64,
    /// ...after this moment; 0 while `index` changes, or before anything was heard.
    after: AtomicU64,
}

impl Freshness {
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        let offset = uuid::Uuid::new_v4().as_u64_pair().0 >> 2;
        Self {
            commit: zero(),
            heard: zero(),
            offset,
            term: zero(),
            proved: zero(),
            index: zero(),
            after: zero(),
        }
    }

    /// Forgets everything: the replica may be behind what it had.
    pub(crate) fn reset(&self) {
        for field in [&self.commit, &self.heard, &self.term, &self.proved, &self.after, &self.index]
        {
            field.store(0, Ordering::Release);
        }
    }

    /// The clock as it goes into an answer to a heartbeat.
    pub(crate) fn stamp(&self, now: u64) -> u64 {
        self.offset.saturating_add(now)
    }

    /// Whether this process has sent that clock.
    pub(crate) fn is_own(&self, stamp: u64, now: u64) -> bool {
        stamp.checked_sub(self.offset).is_some_and(|at| at <= now)
    }

    /// In `term` a leader said, after it had got `stamp`, that nothing behind `index` is committed.
    pub(crate) fn observe(&self, term: u64, index: u64, stamp: u64, now: u64, applied: u64) {
        let Some(after) = stamp.checked_sub(self.offset).filter(|at| *at > 0 && *at <= now) else {
            return;
        };
        let before = self.after.load(Ordering::Relaxed);
        if before != 0 && self.index.load(Ordering::Relaxed) <= applied {
            self.proved.fetch_max(before, Ordering::AcqRel);
        } else if before != 0 && self.term.load(Ordering::Relaxed) == term {
            // First that one: else a replica that is always a little behind would never get there.
            // (What a leader of an earlier term had may never be committed.)
            return;
        }
        if after <= before {
            return;
        }
        self.term.store(term, Ordering::Relaxed);
        self.after.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        self.index.store(index, Ordering::Relaxed);
        self.after.store(after, Ordering::Release);
    }

    /// A moment such that everything that was committed before is applied here; none when there was
    /// none yet.
    pub(crate) fn as_of(&self, applied: u64) -> Option<u64> {
        let proved = self.proved.load(Ordering::Acquire);
        let after = self.after.load(Ordering::Acquire);
        let index = self.index.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let whole = self.after.load(Ordering::Relaxed) == after;
        let newest = if whole && index <= applied { after.max(proved) } else { proved };
        (newest != 0).then_some(newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_counts_from_the_clock_it_answers_once_it_is_applied() {
        let fresh = Freshness::new();
        let observe = |term, index, after, now, applied| {
            fresh.observe(term, index, fresh.stamp(after), now, applied);
        };
        assert_eq!(fresh.as_of(0), None, "nothing was heard");
        fresh.observe(1, 0, 0, 50, 0);
        assert_eq!(fresh.as_of(0), None, "an answer to nothing");
        observe(1, 7, 40, 100, 5);
        assert_eq!((fresh.as_of(6), fresh.as_of(7)), (None, Some(40)));
        observe(1, 9, 60, 120, 6);
        assert_eq!((fresh.as_of(6), fresh.as_of(7)), (None, Some(40)), "7 comes first");
        observe(1, 9, 60, 120, 8);
        assert_eq!((fresh.as_of(8), fresh.as_of(9)), (Some(40), Some(60)));
        observe(1, 4, 50, 130, 9);
        assert_eq!(fresh.as_of(9), Some(60), "old news");
        observe(1, 99, 140, 130, 9);
        assert_eq!(fresh.as_of(99), Some(60), "a clock of a former life");
        observe(1, 99, 100, 140, 9);
        observe(2, 12, 150, 160, 9);
        assert_eq!((fresh.as_of(11), fresh.as_of(12)), (Some(60), Some(150)), "99 may never come");
    }
}
