//! Blocks whose rows are gone, and whose space waits for a flush of the tables.
//!
//! A flush syncs all bytes and tables of a disk: while clients write, they wait for it, however few
//! blocks it is for. So beside clients rows go in portions without one, until a flush comes for
//! another reason, many blocks wait, or they have waited for long. Then their space comes back, in
//! portions too, and no more rows go until that is done: what a flush has not covered is never
//! freed, and no segment is dropped that has records of such blocks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use types::ContainerId;

use super::reclaim::{Rows, Work};
use crate::storage::containers::Container;

/// So many blocks do not wait any longer.
const MOST: usize = 100_000;

/// How long blocks wait for a flush that comes for another reason.
const LONGEST: Duration = Duration::from_secs(30);

/// Counts the flushes of a disk.
#[derive(Debug, Default)]
pub(crate) struct Flushes {
    begun: AtomicU64,
    done: AtomicU64,
}

impl Flushes {
    /// One begins, behind all others; its number.
    pub(crate) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The one of that number went well.
    pub(crate) fn end(&self, number: u64) {
        self.done.fetch_max(number, Ordering::SeqCst);
    }

    /// The first one that covers what was written up to now.
    fn next(&self) -> u64 {
        self.begun.load(Ordering::SeqCst) + 1
    }
}

/// Work of which the rows are gone. Containers keep their disk, and the disk has this: so it keeps
/// none of them.
#[derive(Default)]
pub(crate) struct Waiting {
    works: Vec<(ContainerId, Weak<Container>, Rows)>,
    blocks: usize,
    /// The flush that covers all of it.
    flush: u64,
    since: Option<Instant>,
    /// Containers of which some was freed.
    touched: Vec<Weak<Container>>,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    pub(super) fn is_covered(&self, flushes: &Flushes) -> bool {
        flushes.done.load(Ordering::SeqCst) >= self.flush
    }

    /// Whether it should have its flush now.
    pub(super) fn is_due(&self) -> bool {
        self.blocks >= MOST || self.since.is_some_and(|since| since.elapsed() >= LONGEST)
    }

    /// The last transaction of a container whose rows are gone.
    pub(super) fn last_of(&self, id: ContainerId) -> Option<i64> {
        let of = self.works.iter().filter(|(of, ..)| *of == id);
        of.filter_map(|(.., rows)| rows.transactions.last()).max().copied()
    }

    /// Adds work whose rows went just now.
    pub(super) fn add(&mut self, work: Work, flushes: &Flushes) {
        let Work { container, rows } = work;
        self.blocks = self.blocks.saturating_add(rows.blocks.len());
        self.flush = flushes.next();
        self.since.get_or_insert_with(Instant::now);
        self.works.push((container.id(), Arc::downgrade(&container), rows));
    }

    /// Takes the first works, of about so many blocks; with the last ones the containers of which
    /// some was freed. What is no more is left out.
    pub(super) fn take(&mut self, blocks: usize) -> (Vec<Work>, Vec<Arc<Container>>) {
        let (mut sum, mut count) = (0usize, 0usize);
        for (.., rows) in &self.works {
            sum = sum.saturating_add(rows.blocks.len().max(1));
            if count > 0 && sum > blocks {
                break;
            }
            count = count.saturating_add(1);
        }
        let mut taken = Vec::new();
        for (_, container, rows) in self.works.drain(..count) {
            self.blocks = self.blocks.saturating_sub(rows.blocks.len());
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
        (taken, self.touched.drain(..).filter_map(|container| container.upgrade()).collect())
    }
}
