//! Staleness of a follower: a time up to which it lacks no committed entry.
//!
//! A heartbeat contains the leader's commit index. Its receiver cannot tell when it was sent: it
//! may have waited in a slow network, or in the socket of a stopped process. So a replica puts its
//! own clock into each response, the leader returns the last one that it received, and the
//! heartbeat's index was current *after* that time. Once the replica has applied that index it
//! lacks nothing that was committed before. Clocks of different machines are never compared.
//!
//! The cost: a replica that keeps up has a proof that is one to two heartbeats old. A replaced
//! leader that does not know it yet continues for an election timeout, which adds to the bound.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Staleness of a follower's state. Written by the group's loop, read by any thread; times are
/// nanoseconds of the host's clock. It fits one cache line, because every heartbeat of every group
/// updates it.
#[repr(align(64))]
pub(crate) struct Freshness {
    /// The highest index that a leader reported as committed; its entries may be in flight.
    pub(crate) commit: AtomicU64,
    /// Time of the last message from a leader; 0: never.
    pub(crate) heard: AtomicU64,
    /// Added to times that leave this process, so that those of an earlier process are not mistaken
    /// for its own.
    offset: u64,
    /// Term in which `index` was received.
    term: AtomicU64,
    /// Everything committed before this time is applied here; 0: unknown.
    proved: AtomicU64,
    /// A leader's commit index...
    index: AtomicU64,
    /// ...after this time; 0 while `index` changes, or before the first message.
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

    /// Resets everything: the replica may have lost part of its state.
    pub(crate) fn reset(&self) {
        for field in [&self.commit, &self.heard, &self.term, &self.proved, &self.after, &self.index]
        {
            field.store(0, Ordering::Release);
        }
    }

    /// The clock value for a heartbeat response.
    pub(crate) fn stamp(&self, now: u64) -> u64 {
        self.offset.saturating_add(now)
    }

    /// Returns `true` if this process has sent that clock value.
    pub(crate) fn is_own(&self, stamp: u64, now: u64) -> bool {
        stamp.checked_sub(self.offset).is_some_and(|at| at <= now)
    }

    /// The leader of `term` had committed nothing after `index` when it had received `stamp`.
    pub(crate) fn observe(&self, term: u64, index: u64, stamp: u64, now: u64, applied: u64) {
        let Some(after) = stamp.checked_sub(self.offset).filter(|at| *at > 0 && *at <= now) else {
            return;
        };
        let before = self.after.load(Ordering::Relaxed);
        if before != 0 && self.index.load(Ordering::Relaxed) <= applied {
            self.proved.fetch_max(before, Ordering::AcqRel);
        } else if before != 0 && self.term.load(Ordering::Relaxed) == term {
            // The pending index comes first: otherwise a replica that always lags a little would
            // never reach one. (The index of a leader of an earlier term may never be committed.)
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

    /// A time such that everything committed before it is applied here; `None` if there was none
    /// yet.
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
        assert_eq!(fresh.as_of(0), None, "no heartbeat was received");
        fresh.observe(1, 0, 0, 50, 0);
        assert_eq!(fresh.as_of(0), None, "an answer to nothing");
        observe(1, 7, 40, 100, 5);
        assert_eq!((fresh.as_of(6), fresh.as_of(7)), (None, Some(40)));
        observe(1, 9, 60, 120, 6);
        assert_eq!((fresh.as_of(6), fresh.as_of(7)), (None, Some(40)), "index 7 is pending first");
        observe(1, 9, 60, 120, 8);
        assert_eq!((fresh.as_of(8), fresh.as_of(9)), (Some(40), Some(60)));
        observe(1, 4, 50, 130, 9);
        assert_eq!(fresh.as_of(9), Some(60), "an outdated heartbeat");
        observe(1, 99, 140, 130, 9);
        assert_eq!(fresh.as_of(99), Some(60), "the clock of an earlier process");
        observe(1, 99, 100, 140, 9);
        observe(2, 12, 150, 160, 9);
        assert_eq!(
            (fresh.as_of(11), fresh.as_of(12)),
            (Some(60), Some(150)),
            "99 may never be reached"
        );
    }
}
