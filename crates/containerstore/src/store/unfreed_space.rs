//! Blocks whose rows are deleted, and whose space waits for a flush of the tables.
//!
//! A flush syncs all bytes and tables of a disk: while clients write, they wait for it, however few
//! blocks it is for. So while clients write, rows are deleted in batches without one, until a flush
//! occurs for another reason, many blocks wait, or they have waited for long. Then their space is
//! freed, in batches too, and no more rows are deleted until that is done: blocks that no flush has
//! covered are never freed, and no segment is dropped that has records of such blocks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use container::segment::record_len;
use rustc_hash::FxHashMap;
use types::{ContainerId, LocalId};

use crate::containers::Container;
use crate::disk::Flushes;
use crate::tables::StoredBlock;

/// Number of blocks from which they do not wait any longer.
const MOST: usize = 100_000;

/// Longest wait of blocks for a flush with another cause.
const LONGEST: Duration = Duration::from_secs(30);

/// Space of a container's deleted blocks.
#[derive(Debug, Default)]
pub(crate) struct Freed {
    pub blocks: u64,
    pub bytes: u64,
    /// Dead records, by segment.
    pub dead: BTreeMap<u32, Vec<Range<u64>>>,
}

impl Freed {
    pub fn add(&mut self, row: &StoredBlock) {
        self.blocks += 1;
        self.bytes += row.length();
        if let Some(packed) = row.packed {
            let range = packed.offset..packed.offset + record_len(packed.len);
            self.dead.entry(packed.segment).or_default().push(range);
        }
    }
}

/// A container's blocks of a batch, or some of them.
pub(crate) struct Work {
    pub container: Arc<Container>,
    pub rows: Rows,
}

/// Rows of it that are deleted.
pub(crate) struct Rows {
    /// Transactions that end with it.
    pub transactions: Vec<i64>,
    /// Its end; `None` if there was nothing to do.
    pub end: Option<Place>,
    pub blocks: Vec<LocalId>,
    pub freed: Freed,
}

/// End of the deleted rows of a container's blocks: this number of blocks of this transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub tx: i64,
    pub blocks: usize,
}

impl Place {
    /// Returns the position after a whole transaction.
    pub(crate) fn behind(tx: i64) -> Self {
        Self { tx, blocks: usize::MAX }
    }

    /// Returns `true` if the transaction has more blocks.
    pub fn is_inside(self) -> bool {
        self.blocks != usize::MAX
    }
}

fn is_of(of: &Weak<Container>, container: &Arc<Container>) -> bool {
    std::ptr::eq(of.as_ptr(), Arc::as_ptr(container))
}

/// End of the deleted rows of a container.
struct End {
    of: Weak<Container>,
    place: Place,
    /// Its works that wait.
    works: usize,
    /// The next batch continues there, also if none of its works waits: it is inside a transaction.
    goes_on: bool,
}

/// Work whose rows are deleted. It keeps no replica: one that is removed meanwhile has none to
/// free.
#[derive(Default)]
pub(crate) struct UnfreedSpace {
    works: VecDeque<(ContainerId, Weak<Container>, Rows)>,
    blocks: usize,
    /// The flush that covers all of it.
    flush: u64,
    since: Option<Instant>,
    /// Containers of which some was freed.
    touched: Vec<Weak<Container>>,
    /// Ends of the rows of containers that have works here, or a transaction that was begun and not
    /// completed.
    ends: FxHashMap<ContainerId, End>,
    /// Transactions of which a part was not freed: they do not end with their last part.
    kept: BTreeSet<(ContainerId, i64)>,
}

impl UnfreedSpace {
    pub(crate) fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    pub(crate) fn is_covered(&self, flushes: &Flushes) -> bool {
        flushes.has_ended(self.flush)
    }

    /// Returns `true` if its flush is due now.
    pub(crate) fn is_due(&self) -> bool {
        self.blocks >= MOST || self.since.is_some_and(|since| since.elapsed() >= LONGEST)
    }

    /// Returns the end of the deleted rows of a container.
    pub(crate) fn last_of(&self, container: &Arc<Container>) -> Option<Place> {
        let end = self.ends.get(&container.id()).filter(|end| is_of(&end.of, container));
        end.map(|end| end.place)
    }

    /// Records that the space of this work is not free: its transactions stay, also the one of
    /// which it is a part.
    pub(crate) fn keep(&mut self, work: &Work) {
        let id = work.container.id();
        self.may_end(work);
        if let Some(end) = work.rows.end.filter(|end| end.is_inside()) {
            self.kept.insert((id, end.tx));
        }
        // They are visited once more when its last work is done.
        if let Some(end) = self.ends.get_mut(&id).filter(|end| is_of(&end.of, &work.container)) {
            end.goes_on = false;
            if end.works == 0 {
                self.ends.remove(&id);
            }
        }
    }

    /// The transactions that end with this work, whose space is free.
    pub(crate) fn may_end(&mut self, work: &Work) -> Vec<i64> {
        let id = work.container.id();
        let mut ended = work.rows.transactions.clone();
        ended.retain(|tx| !self.kept.remove(&(id, *tx)));
        ended
    }

    /// Adds work whose rows went just now.
    pub(crate) fn add(&mut self, work: Work, flushes: &Flushes) {
        let Work { container, rows } = work;
        self.blocks = self.blocks.saturating_add(rows.blocks.len());
        self.flush = flushes.next();
        self.since.get_or_insert_with(Instant::now);
        let (id, of) = (container.id(), Arc::downgrade(&container));
        if let Some(place) = rows.end {
            let works = match self.ends.get(&id) {
                Some(end) if is_of(&end.of, &container) => end.works,
                _ => 0,
            };
            let (works, goes_on) = (works.saturating_add(1), place.is_inside());
            self.ends.insert(id, End { of: Weak::clone(&of), place, works, goes_on });
        }
        self.works.push_back((id, of, rows));
    }

    /// Takes the first works, of about this number of blocks; with the last ones the containers of
    /// which some was freed. Works of removed replicas are skipped.
    pub(crate) fn take(&mut self, blocks: usize) -> (Vec<Work>, Vec<Arc<Container>>) {
        let (mut sum, mut count) = (0usize, 0usize);
        for (_, _, rows) in &self.works {
            sum = sum.saturating_add(rows.blocks.len().max(1));
            if count > 0 && sum > blocks {
                break;
            }
            count = count.saturating_add(1);
        }
        let mut taken = Vec::new();
        for (id, container, rows) in self.works.drain(..count) {
            self.blocks = self.blocks.saturating_sub(rows.blocks.len());
            let end = self.ends.get_mut(&id).filter(|end| end.of.ptr_eq(&container));
            if let Some(end) = end.filter(|_| rows.end.is_some()) {
                end.works = end.works.saturating_sub(1);
                if end.works == 0 && !end.goes_on {
                    self.ends.remove(&id);
                }
            }
            if !self.touched.iter().any(|touched| touched.ptr_eq(&container)) {
                self.touched.push(Weak::clone(&container));
            }
            if let Some(container) = container.upgrade() {
                taken.push(Work { container, rows });
            }
        }
        if !self.works.is_empty() {
            return (taken, Vec::new());
        }
        (self.blocks, self.since) = (0, None);
        self.ends.retain(|_, end| end.of.strong_count() > 0);
        (taken, self.touched.drain(..).filter_map(|container| container.upgrade()).collect())
    }
}
