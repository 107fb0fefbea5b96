//! Answers of writes that clients may retry, as replicated state.
//!
//! A client that got no answer sends its call again, with the same client id and call id, to this
//! OM after a restart or to another one. The log entry has the ids of its call, so every replica
//! keeps the answer when it applies the entry, in the same batch as its changes: the next leader
//! answers the call and does not repeat it.
//!
//! The answers of a round of entries are one row, named after the last of them, so that keeping
//! them costs little compared with the entries. Rows that lag too far are deleted as others come:
//! their number is bounded. Answers are kept without parts that differ between replicas (locations
//! of blocks, the name of the leader).
//!
//! Rounds of entries differ from replica to replica, but the validity of an answer must not: one
//! replica would answer a retried call, and another one repeat it. So no row has answers of two
//! spans of the log, and an answer counts by the span of its entry alone.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use metastore::{Batch, IterRange, Store, Table as StoreTable};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::state::column_families::RETRY_TABLE;

/// Log entries whose answers are kept at least: at 10,000 writes a second those of the last
/// seconds, which is when clients try again.
pub(super) const ENTRIES: u64 = 65_536;
/// Entries of a span. Answers of a span cease to count at the same entry, on every replica.
pub(super) const SPAN: u64 = 4_096;
/// Bytes of the longest kept answer. Longer ones list many failures, and can be requested again.
const LONGEST: usize = 64 << 10;

/// Identity of a call: the client's id (a UUID), and the call's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    pub(crate) client: [u8; 16],
    pub(crate) call: i32,
}

impl CallKey {
    /// Out of the fields of a log entry.
    pub(crate) fn of(client: Option<&Bytes>, call: Option<i32>) -> Option<Self> {
        Some(Self { client: client?.as_ref().try_into().ok()?, call: call? })
    }
}

#[derive(Default)]
struct State {
    /// The row of each call that is in the table.
    calls: FxHashMap<CallKey, u64>,
    /// Rows in the table, oldest first, with the calls in them.
    rows: VecDeque<(u64, Vec<CallKey>)>,
    /// Answers of the round that is being applied, with their entries: not in the table yet.
    round: FxHashMap<CallKey, (u64, Bytes)>,
}

impl State {
    fn add(&mut self, row: u64, calls: Vec<CallKey>) {
        self.calls.extend(calls.iter().map(|call| (*call, row)));
        self.rows.push_back((row, calls));
    }

    /// The rows of the round: one for each span that has entries of it.
    fn rows_of_round(&self) -> impl Iterator<Item = (u64, Vec<CallKey>)> + use<> {
        let mut spans = BTreeMap::<u64, (u64, Vec<CallKey>)>::new();
        for (call, (index, _)) in &self.round {
            let (row, calls) = spans.entry(index / SPAN).or_default();
            *row = (*row).max(*index);
            calls.push(*call);
        }
        spans.into_values()
    }

    /// Drops rows that lag too far behind `newest`.
    fn forget(&mut self, newest: u64) {
        while let Some((row, calls)) = self.rows.pop_front_if(|(row, _)| is_past(*row, newest)) {
            for call in calls {
                if self.calls.get(&call) == Some(&row) {
                    self.calls.remove(&call);
                }
            }
        }
    }
}

/// Returns `true` if the answer of an entry, or the answers of a row, no longer count at a later
/// entry.
fn is_past(index: u64, now: u64) -> bool {
    index / SPAN + ENTRIES / SPAN < now / SPAN
}

/// The kept answers of the database in use.
#[derive(Default)]
pub(crate) struct Retries(Mutex<State>);

impl Retries {
    /// Reads the calls in the table.
    pub(crate) fn load(&self, store: &Store) -> Result<(), Error> {
        let mut fresh = State::default();
        let mut rows = store.iter(StoreTable::named(RETRY_TABLE), IterRange::all())?;
        rows.first();
        rows.for_each(|key, value| {
            if let Ok(row) = key.try_into().map(u64::from_be_bytes) {
                fresh.add(row, Answers(value).map(|(call, _)| call).collect());
            }
            true
        })?;
        *self.0.lock() = fresh;
        Ok(())
    }

    /// The answer of a call that was carried out, if it counts at entry `at`. For the apply thread,
    /// which sees the round under way, too.
    pub(crate) fn applied(
        &self,
        call: CallKey,
        at: u64,
        store: &Store,
    ) -> Result<Option<Bytes>, Error> {
        {
            let state = self.0.lock();
            if let Some((index, answer)) = state.round.get(&call)
                && !is_past(*index, at)
            {
                return Ok(Some(answer.clone()));
            }
            if state.calls.get(&call).is_none_or(|row| is_past(*row, at)) {
                return Ok(None);
            }
        }
        self.known(call, store)
    }

    /// The answer of a call that was carried out and written, if it is kept.
    pub(crate) fn known(&self, call: CallKey, store: &Store) -> Result<Option<Bytes>, Error> {
        let Some(row) = self.0.lock().calls.get(&call).copied() else { return Ok(None) };
        let value = store.get(StoreTable::named(RETRY_TABLE), &row.to_be_bytes())?;
        // The row may have been deleted since.
        let found = value.and_then(|value| {
            let mut answers = Answers(&value);
            answers.find(|(known, _)| *known == call).map(|(_, a)| Bytes::copy_from_slice(a))
        });
        Ok(found)
    }

    /// Forgets the answers of a round that failed before it was written: its entries are applied
    /// again.
    pub(crate) fn forget_round(&self) {
        self.0.lock().round.clear();
    }

    /// Keeps the answer of entry `at` of the round.
    pub(crate) fn keep(&self, call: CallKey, at: u64, answer: &Bytes) {
        if answer.len() <= LONGEST {
            self.0.lock().round.insert(call, (at, answer.clone()));
        }
    }

    /// Adds the answers of the round that ends at `last` to its batch.
    pub(crate) fn write(&self, batch: &mut Batch, last: u64) {
        let state = self.0.lock();
        if state.round.is_empty() {
            return;
        }
        for (row, calls) in state.rows_of_round() {
            let answers = calls.iter().filter_map(|call| Some((call, &state.round.get(call)?.1)));
            let answers: Vec<_> = answers.collect();
            let bytes = answers.iter().map(|(_, answer)| HEAD + answer.len()).sum();
            let mut value = Vec::with_capacity(bytes);
            for (call, answer) in answers {
                put(&mut value, *call, answer);
            }
            batch.put(StoreTable::named(RETRY_TABLE), row.to_be_bytes(), value);
        }
        for (row, _) in state.rows.iter().take_while(|(row, _)| is_past(*row, last)) {
            batch.delete(StoreTable::named(RETRY_TABLE), row.to_be_bytes());
        }
    }

    /// The round that ends at `last` is written: its answers are found in the table from now on.
    pub(crate) fn written(&self, last: u64) {
        let mut state = self.0.lock();
        if state.round.is_empty() {
            return;
        }
        for (row, calls) in state.rows_of_round() {
            state.add(row, calls);
        }
        state.round.clear();
        state.forget(last);
    }
}

/// Bytes in front of an answer: client id (16), call number (4, big-endian), length (4,
/// little-endian).
const HEAD: usize = 24;

fn put(value: &mut Vec<u8>, call: CallKey, answer: &[u8]) {
    value.extend_from_slice(&call.client);
    value.extend_from_slice(&call.call.to_be_bytes());
    value.extend_from_slice(&(answer.len() as u32).to_le_bytes());
    value.extend_from_slice(answer);
}

/// The calls of a row with their answers.
struct Answers<'a>(&'a [u8]);

impl<'a> Iterator for Answers<'a> {
    type Item = (CallKey, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (client, rest) = self.0.split_first_chunk::<16>()?;
        let (call, rest) = rest.split_first_chunk::<4>()?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let (answer, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        self.0 = rest;
        Some((CallKey { client: *client, call: i32::from_be_bytes(*call) }, answer))
    }
}

#[cfg(test)]
mod tests {
    use metastore::{Durability, StoreOptions};

    use super::*;
    use crate::state::column_families::specs;

    fn call(number: i32) -> CallKey {
        CallKey { client: [7; 16], call: number }
    }

    /// A round of answers to the entries up to `last`.
    fn round(retries: &Retries, store: &Store, last: u64, answers: &[(i32, &'static str)]) {
        let first = (last + 1).saturating_sub(answers.len() as u64);
        for (at, (number, answer)) in (first..).zip(answers) {
            retries.keep(call(*number), at, &Bytes::from_static(answer.as_bytes()));
        }
        let mut batch = Batch::new();
        retries.write(&mut batch, last);
        store.write(batch, Durability::NoWal).unwrap();
        retries.written(last);
    }

    fn rows(store: &Store) -> usize {
        let mut count = 0;
        let mut rows = store.iter(StoreTable::named(RETRY_TABLE), IterRange::all()).unwrap();
        rows.first();
        rows.for_each(|_, _| {
            count += 1;
            true
        })
        .unwrap();
        count
    }

    #[test]
    fn answers_are_found_after_their_round_and_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions::default();
        let store = Store::open(dir.path(), &specs(), &options).unwrap();
        let retries = Retries::default();
        retries.keep(call(1), 9, &Bytes::from_static(b"one"));
        assert_eq!(retries.applied(call(1), 10, &store).unwrap().unwrap(), "one");
        assert!(retries.known(call(1), &store).unwrap().is_none(), "not written yet");
        round(&retries, &store, 11, &[(2, "two"), (4, "")]);
        assert_eq!(retries.known(call(1), &store).unwrap().unwrap(), "one");
        round(&retries, &store, 12, &[]);
        assert_eq!(rows(&store), 1, "a round without answers leaves nothing");
        let after = Retries::default();
        after.load(&store).unwrap();
        assert_eq!(after.known(call(2), &store).unwrap().unwrap(), "two");
        assert_eq!(after.known(call(4), &store).unwrap().unwrap(), "");
        assert!(after.known(call(3), &store).unwrap().is_none());
        let other = CallKey { client: [8; 16], call: 2 };
        assert!(after.known(other, &store).unwrap().is_none());
    }

    #[test]
    fn rows_that_are_too_far_behind_go_as_others_come() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), &specs(), &StoreOptions::default()).unwrap();
        let retries = Retries::default();
        round(&retries, &store, 5, &[(1, "old"), (5, "again")]);
        round(&retries, &store, SPAN + 6, &[(2, "stays"), (5, "and again")]);
        round(&retries, &store, SPAN + ENTRIES, &[(3, "new")]);
        assert_eq!(rows(&store), 2);
        assert!(retries.known(call(1), &store).unwrap().is_none());
        assert_eq!(retries.known(call(2), &store).unwrap().unwrap(), "stays");
        assert_eq!(retries.known(call(3), &store).unwrap().unwrap(), "new");
        assert_eq!(retries.known(call(5), &store).unwrap().unwrap(), "and again");
        let at = SPAN + ENTRIES + 1;
        retries.keep(call(4), at, &Bytes::from(vec![0; LONGEST + 1]));
        assert!(retries.applied(call(4), at, &store).unwrap().is_none());
        assert_eq!(retries.0.lock().calls.len(), 3);
    }

    #[test]
    fn a_round_over_two_spans_makes_two_rows() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), &specs(), &StoreOptions::default()).unwrap();
        let retries = Retries::default();
        round(&retries, &store, SPAN + 1, &[(1, "one"), (2, "two"), (3, "three"), (4, "four")]);
        assert_eq!(rows(&store), 2);
        let after = Retries::default();
        after.load(&store).unwrap();
        // At the first entry at which those of the first span no longer count.
        let at = ENTRIES + SPAN;
        for retries in [&retries, &after] {
            for (number, answer) in [(1, "one"), (2, "two"), (3, "three"), (4, "four")] {
                assert_eq!(retries.applied(call(number), at - 1, &store).unwrap().unwrap(), answer);
                let counts = retries.applied(call(number), at, &store).unwrap().is_some();
                assert_eq!(counts, number > 2, "{number}");
            }
        }
    }
}
