//! Answers of writes that may come again, as replicated state.
//!
//! A client that got no answer sends its call again, with the same client id and call id, to this
//! OM after a restart or to another one. The log entry says which call it is from, so every
//! replica keeps the answer when it applies the entry, in the same batch as what the entry did:
//! whoever leads next answers the call and does not do it again.
//!
//! The answers are a ring of rows: an entry's slot is its index modulo the size, so the newest
//! are there, a slot is only ever overwritten, and what is kept is bounded. Answers are kept
//! without what differs between replicas (places of blocks, the name of the leader).

use bytes::{Buf, Bytes};
use metastore::{Batch, IterRange, Preset, Store, Table as StoreTable, TableSpec};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::error::Error;

/// Our own column family, beside Ozone's.
const TABLE: &str = "trioxideRetryTable";
/// Answers kept, one to a log entry: at 10,000 writes a second those of the last seconds, which
/// is when clients try again.
const SLOTS: u64 = 65_536;
/// Longest answer that is kept. Longer ones list what failed of many, and can be asked for again.
const LONGEST: usize = 64 << 10;

/// What the ring is opened with.
pub(crate) const fn spec() -> TableSpec {
    TableSpec::new(TABLE, Preset::Point)
}

/// Which call: the client's id (a UUID), and the call's number.
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
    /// Slots of calls that are in the table.
    slots: FxHashMap<CallKey, u32>,
    /// The call that each slot is about.
    calls: Vec<Option<CallKey>>,
    /// Answers of the round that is being applied: not in the table yet.
    round: FxHashMap<CallKey, (u32, Bytes)>,
}

impl State {
    fn take(&mut self, slot: u32, call: CallKey) {
        let at = slot as usize;
        if self.calls.len() <= at {
            self.calls.resize(at + 1, None);
        }
        let Some(place) = self.calls.get_mut(at) else { return };
        if let Some(old) = place.replace(call)
            && self.slots.get(&old) == Some(&slot)
        {
            self.slots.remove(&old);
        }
        self.slots.insert(call, slot);
    }
}

/// The kept answers of the database in use.
#[derive(Default)]
pub(crate) struct Retries(Mutex<State>);

impl Retries {
    /// Reads which calls the table knows.
    pub(crate) fn load(&self, store: &Store) -> Result<(), Error> {
        let mut fresh = State::default();
        let mut rows = store.iter(StoreTable::named(TABLE), IterRange::all())?;
        rows.first();
        rows.for_each(|key, value| {
            if let (Ok(slot), Some((call, _))) =
                (key.try_into().map(u32::from_be_bytes), split(value))
            {
                fresh.take(slot, call);
            }
            true
        })?;
        *self.0.lock() = fresh;
        Ok(())
    }

    /// The answer of a call that was carried out, if it is kept. For the apply thread, which sees
    /// the round under way, too.
    pub(crate) fn applied(&self, call: CallKey, store: &Store) -> Result<Option<Bytes>, Error> {
        if let Some((_, answer)) = self.0.lock().round.get(&call) {
            return Ok(Some(answer.clone()));
        }
        self.known(call, store)
    }

    /// The answer of a call that was carried out and written, if it is kept.
    pub(crate) fn known(&self, call: CallKey, store: &Store) -> Result<Option<Bytes>, Error> {
        let Some(slot) = self.0.lock().slots.get(&call).copied() else { return Ok(None) };
        let row = store.get(StoreTable::named(TABLE), &slot.to_be_bytes())?;
        // The slot may have been taken by another call since.
        let found =
            row.and_then(|row| split(&row.to_bytes()).map(|(c, a)| (c, Bytes::copy_from_slice(a))));
        Ok(found.filter(|(owner, _)| *owner == call).map(|(_, answer)| answer))
    }

    /// Keeps the answer of the entry at `index`.
    pub(crate) fn keep(&self, call: CallKey, index: u64, answer: &Bytes) {
        if answer.len() <= LONGEST {
            let slot = (index % SLOTS) as u32;
            self.0.lock().round.insert(call, (slot, answer.clone()));
        }
    }

    /// Adds the answers of the round to its batch.
    pub(crate) fn write(&self, batch: &mut Batch) {
        for (call, (slot, answer)) in &self.0.lock().round {
            batch.put(StoreTable::named(TABLE), slot.to_be_bytes(), join(*call, answer));
        }
    }

    /// The round is written: its answers are found in the table from now on.
    pub(crate) fn written(&self) {
        let mut state = self.0.lock();
        for (call, (slot, _)) in std::mem::take(&mut state.round) {
            state.take(slot, call);
        }
    }
}

/// Client id (16 bytes), call number (4, big-endian), answer.
fn join(call: CallKey, answer: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(20 + answer.len());
    value.extend_from_slice(&call.client);
    value.extend_from_slice(&call.call.to_be_bytes());
    value.extend_from_slice(answer);
    value
}

fn split(mut value: &[u8]) -> Option<(CallKey, &[u8])> {
    let client = *value.first_chunk::<16>()?;
    value.advance(16);
    let call = i32::from_be_bytes(*value.first_chunk::<4>()?);
    value.advance(4);
    Some((CallKey { client, call }, value))
}

#[cfg(test)]
mod tests {
    use metastore::{Durability, StoreOptions};

    use super::*;

    fn call(number: i32) -> CallKey {
        CallKey { client: [7; 16], call: number }
    }

    fn round(retries: &Retries, store: &Store, answers: &[(i32, u64, &'static str)]) {
        for (number, index, answer) in answers {
            retries.keep(call(*number), *index, &Bytes::from_static(answer.as_bytes()));
        }
        let mut batch = Batch::new();
        retries.write(&mut batch);
        store.write(batch, Durability::NoWal).unwrap();
        retries.written();
    }

    #[test]
    fn answers_are_found_after_their_round_and_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions::default();
        let store = Store::open(dir.path(), &[spec()], &options).unwrap();
        let retries = Retries::default();
        retries.keep(call(1), 10, &Bytes::from_static(b"one"));
        assert_eq!(retries.applied(call(1), &store).unwrap().unwrap(), "one");
        assert!(retries.known(call(1), &store).unwrap().is_none(), "not written yet");
        round(&retries, &store, &[(2, 11, "two")]);
        assert_eq!(retries.known(call(1), &store).unwrap().unwrap(), "one");
        let after = Retries::default();
        after.load(&store).unwrap();
        assert_eq!(after.known(call(2), &store).unwrap().unwrap(), "two");
        assert!(after.known(call(3), &store).unwrap().is_none());
        let other = CallKey { client: [8; 16], call: 2 };
        assert!(after.known(other, &store).unwrap().is_none());
    }

    #[test]
    fn the_newest_answers_take_the_place_of_the_oldest() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), &[spec()], &StoreOptions::default()).unwrap();
        let retries = Retries::default();
        round(&retries, &store, &[(1, 5, "old"), (2, 6, "stays")]);
        round(&retries, &store, &[(3, 5 + SLOTS, "new")]);
        assert!(retries.known(call(1), &store).unwrap().is_none());
        assert_eq!(retries.known(call(2), &store).unwrap().unwrap(), "stays");
        assert_eq!(retries.known(call(3), &store).unwrap().unwrap(), "new");
        retries.keep(call(4), 7, &Bytes::from(vec![0; LONGEST + 1]));
        assert!(retries.applied(call(4), &store).unwrap().is_none());
        assert_eq!(retries.0.lock().slots.len(), 2);
    }
}
