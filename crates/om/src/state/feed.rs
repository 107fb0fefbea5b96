//! Recent writes, for clients that keep a copy of the tables (Recon).
//!
//! Ozone's OM answers from RocksDB's log, which does not exist here: the Raft log is the log, and
//! its entries are commands, not rows. So the rows of the last rounds are kept in memory, within
//! bounds, from the first copy of the tables until no client requests updates any more.
//!
//! A copy is named by a sequence number: that of its own database, which grows by one with each
//! change that it applies. Such a number alone is ambiguous (after a crash, or on another OM, the
//! same number stands for other rows), so it counts only when this feed has returned it, with a
//! copy or with earlier updates. Any other number has no updates, and its owner takes a new copy.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;

/// Most stored numbers: each copy has the last one it was given.
const MOST_COPIES: usize = 64;
/// Time without requests after which the rows are dropped.
const IDLE_TIMEOUT: Duration = Duration::from_secs(900);

/// The feed. It costs one lock check for each round while no client has a copy.
pub(crate) struct UpdateFeed {
    most_bytes: usize,
    inner: Mutex<Option<Kept>>,
}

/// A round of the log, as a batch of RocksDB.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    /// The position before it.
    pub(crate) after: u64,
    /// Its own.
    pub(crate) index: u64,
    /// Changes in the batch.
    pub(crate) changes: u64,
    /// The batch.
    pub(crate) batch: Bytes,
}

/// Updates after a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Updates {
    /// The number of the copy once these are applied.
    pub(crate) sequence: u64,
    /// The number that it will have when everything is applied that there is now.
    pub(crate) latest: u64,
    /// Batches, in order.
    pub(crate) batches: Vec<Bytes>,
}

struct Kept {
    rounds: VecDeque<Round>,
    bytes: usize,
    asked: Instant,
    /// Numbers of copies, and the log position of each of them. `None` for a number that stands for
    /// two positions.
    copies: VecDeque<(u64, Option<u64>)>,
}

impl UpdateFeed {
    /// A feed that keeps up to `most_bytes` of batches.
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { most_bytes, inner: Mutex::new(None) }
    }

    /// Begins to keep rounds; to be called before a copy is made.
    pub(crate) fn begin(&self) {
        let mut inner = self.inner.lock();
        let kept = inner.get_or_insert_with(|| Kept {
            rounds: VecDeque::new(),
            bytes: 0,
            asked: Instant::now(),
            copies: VecDeque::new(),
        });
        kept.asked = Instant::now();
    }

    /// Returns `true` if rounds are kept now.
    pub(crate) fn is_wanted(&self) -> bool {
        self.inner.lock().is_some()
    }

    /// Adds a written round.
    pub(crate) fn push(&self, round: Round) {
        let mut inner = self.inner.lock();
        let Some(kept) = inner.as_mut() else { return };
        if kept.asked.elapsed() > IDLE_TIMEOUT {
            *inner = None;
            return;
        }
        if kept.rounds.back().is_some_and(|last| last.index != round.after) {
            // A round in between was not kept.
            kept.rounds.clear();
            kept.bytes = 0;
        }
        kept.bytes += round.batch.len();
        kept.rounds.push_back(round);
        while kept.bytes > self.most_bytes {
            let Some(first) = kept.rounds.pop_front() else { break };
            kept.bytes -= first.batch.len();
        }
    }

    /// Records that a copy of the tables up to `index` was returned, with this number.
    pub(crate) fn copied(&self, sequence: u64, index: u64) {
        if let Some(kept) = self.inner.lock().as_mut() {
            kept.note(sequence, index);
        }
    }

    /// Updates since the copy of this number, up to about `changes` changes and `bytes` bytes;
    /// `applied` is the index of the last applied entry. `None` if they were dropped: the client
    /// has to take a new copy.
    pub(crate) fn since(
        &self,
        sequence: u64,
        applied: u64,
        changes: u64,
        bytes: usize,
    ) -> Option<Updates> {
        let mut inner = self.inner.lock();
        let kept = inner.as_mut()?;
        kept.asked = Instant::now();
        let (_, position) = kept.copies.iter().find(|(number, _)| *number == sequence)?;
        let position = (*position)?;
        let first = kept.rounds.partition_point(|round| round.index <= position);
        match kept.rounds.get(first) {
            Some(round) if round.after == position => {}
            None if applied <= position => {}
            _ => return None,
        }
        let mut updates = Updates { sequence, latest: sequence, batches: Vec::new() };
        let (mut reached, mut size, mut full) = (position, 0, false);
        for round in kept.rounds.iter().skip(first) {
            updates.latest += round.changes;
            full |= updates.sequence - sequence >= changes || size >= bytes;
            if !full {
                updates.sequence += round.changes;
                size += round.batch.len();
                updates.batches.push(round.batch.clone());
                reached = round.index;
            }
        }
        kept.note(updates.sequence, reached);
        Some(updates)
    }
}

impl Kept {
    fn note(&mut self, sequence: u64, index: u64) {
        let position = match self.copies.iter().position(|(number, _)| *number == sequence) {
            Some(known) => {
                let (_, known) = self.copies.remove(known).unwrap_or_default();
                known.filter(|known| *known == index)
            }
            None => Some(index),
        };
        self.copies.push_back((sequence, position));
        if self.copies.len() > MOST_COPIES {
            self.copies.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(after: u64, index: u64, changes: u64) -> Round {
        Round { after, index, changes, batch: Bytes::from(vec![index as u8; 10]) }
    }

    fn batches(updates: &Updates) -> Vec<u8> {
        updates.batches.iter().map(|batch| batch[0]).collect()
    }

    #[test]
    fn a_copy_gets_what_was_written_after_it() {
        let feed = UpdateFeed::new(1_000);
        feed.push(round(0, 1, 1));
        assert!(!feed.is_wanted());
        feed.begin();
        feed.push(round(5, 7, 3));
        feed.copied(100, 7);
        assert_eq!(feed.since(99, 7, 10, 100), None, "never given out");
        let none = feed.since(100, 7, 10, 100).unwrap();
        assert_eq!((none.sequence, none.latest, none.batches.len()), (100, 100, 0));
        feed.push(round(7, 8, 2));
        feed.push(round(8, 11, 4));
        let some = feed.since(100, 11, 2, 100).unwrap();
        assert_eq!((some.sequence, some.latest, batches(&some)), (102, 106, vec![8]));
        let rest = feed.since(102, 11, 10, 100).unwrap();
        assert_eq!((rest.sequence, rest.latest, batches(&rest)), (106, 106, vec![11]));
        // A client may repeat its request after a failed apply.
        assert_eq!(batches(&feed.since(100, 11, 10, 100).unwrap()), [8, 11]);
        assert_eq!(batches(&feed.since(100, 11, 10, 5).unwrap()), [8], "by bytes");
    }

    #[test]
    fn what_was_not_kept_is_not_passed_over() {
        let feed = UpdateFeed::new(25);
        feed.begin();
        feed.copied(100, 7);
        assert_eq!(feed.since(100, 8, 10, 100), None, "written before anything was kept");
        feed.push(round(8, 9, 1));
        assert_eq!(feed.since(100, 9, 10, 100), None);
        feed.copied(200, 9);
        feed.push(round(9, 10, 1));
        feed.push(round(12, 13, 1));
        assert_eq!(feed.since(200, 13, 10, 100), None, "a round is missing");
        feed.copied(300, 13);
        feed.push(round(13, 14, 1));
        feed.push(round(14, 15, 1));
        assert_eq!(batches(&feed.since(300, 15, 10, 100).unwrap()), [14, 15]);
        feed.push(round(15, 16, 1));
        assert_eq!(feed.since(300, 16, 10, 100), None, "too much for the memory");
    }

    #[test]
    fn a_number_that_stands_for_two_states_is_worth_nothing() {
        let feed = UpdateFeed::new(1_000);
        feed.begin();
        feed.copied(100, 7);
        feed.copied(100, 7);
        assert!(feed.since(100, 7, 10, 100).is_some());
        feed.copied(100, 8);
        assert_eq!(feed.since(100, 8, 10, 100), None);
        feed.copied(100, 8);
        assert_eq!(feed.since(100, 8, 10, 100), None);
        for number in 0..100 {
            feed.copied(number + 1_000, number);
        }
        assert_eq!(feed.inner.lock().as_ref().unwrap().copies.len(), MOST_COPIES);
    }
}
