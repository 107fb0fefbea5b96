//! Sequence numbers: taken from the replicated state in batches, handed out from memory.
//!
//! **Invariant:** a number is handed out at most once in the life of a cluster. The table holds the
//! last number of the last batch taken; a new leader or a restarted SCM begins after it, so the
//! unused rest of a batch is lost, never reused.

use std::ops::Range;

/// Numbered objects. Names are those of Ozone's `sequenceId` table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sequence {
    /// Containers.
    ContainerId,
    /// Blocks, over all containers.
    LocalId,
    /// Transactions of the deletion log.
    DelTxnId,
}

impl Sequence {
    /// Every sequence.
    pub const ALL: [Self; 3] = [Self::ContainerId, Self::LocalId, Self::DelTxnId];

    /// The key in the `sequenceId` table.
    pub fn name(self) -> &'static str {
        match self {
            Self::ContainerId => "containerId",
            Self::LocalId => "localId",
            Self::DelTxnId => "delTxnId",
        }
    }

    /// The sequence with that key.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    fn at(self) -> usize {
        match self {
            Self::ContainerId => 0,
            Self::LocalId => 1,
            Self::DelTxnId => 2,
        }
    }
}

/// All sequences: the last number taken of each, and the leader's ranges to hand out from.
#[derive(Debug, Default)]
pub struct Sequences {
    last: [u64; 3],
    ready: [Range<u64>; 3],
}

impl Sequences {
    /// The last number that belongs to a batch already taken.
    pub fn last(&self, sequence: Sequence) -> u64 {
        self.last[sequence.at()]
    }

    /// Restores the last number from the table.
    pub fn load(&mut self, sequence: Sequence, last: u64) {
        self.last[sequence.at()] = last;
    }

    /// Numbers left to hand out before another batch is needed.
    pub fn left(&self, sequence: Sequence) -> u64 {
        let ready = &self.ready[sequence.at()];
        ready.end.saturating_sub(ready.start)
    }

    /// Allocates `count` consecutive numbers; `None` when the current batch has too few.
    pub fn allocate(&mut self, sequence: Sequence, count: u64) -> Option<Range<u64>> {
        let ready = &mut self.ready[sequence.at()];
        let end = ready.start.checked_add(count).filter(|end| *end <= ready.end)?;
        let taken = ready.start..end;
        ready.start = end;
        Some(taken)
    }

    /// The leader may hand out `range`, which a committed change has reserved. A range that
    /// continues the current one extends it; otherwise the rest of that one is dropped.
    pub fn grant(&mut self, sequence: Sequence, range: Range<u64>) {
        let ready = &mut self.ready[sequence.at()];
        if ready.end == range.start && !ready.is_empty() {
            ready.end = range.end;
        } else {
            *ready = range;
        }
    }

    /// Drops the current ranges: this SCM does not lead any more.
    pub fn drop_ranges(&mut self) {
        self.ready = Default::default();
    }

    /// Reserves up to and including `last`; false when the table has moved on since `expected` was
    /// read.
    pub(crate) fn reserve(&mut self, sequence: Sequence, expected: u64, last: u64) -> bool {
        let current = &mut self.last[sequence.at()];
        if *current != expected || last <= expected {
            return false;
        }
        *current = last;
        true
    }
}
