//! A group's log as Raft reads it: recent entries from memory, older ones from the disk's log.
//!
//! Entries are cached before Raft passes them on for writing, and stay there at least until they
//! are written and passed to the state machine, so Raft's own reads never touch the disk in normal
//! operation. Old entries for a lagging follower (and payloads outside of the log) are read in the
//! background: [`GroupStorage::entries`] records the missing range, the loop fetches it and makes
//! Raft retry.

mod cache;
mod terms;

use std::cell::{Cell, RefCell};

use self::cache::Cache;
use self::terms::Terms;
use crate::consensus::{
    ConfState, Entry, Error, GetEntriesContext, HardState, RaftState, Result, Snapshot, Storage,
    StorageError,
};
use crate::entry::is_stripped;
use crate::error::LogError;
use crate::log::LogHandle;
use crate::machine::LogPosition;
use crate::membership::Membership;
use crate::snapshot::describe_members;

/// Entries that must be fetched before a follower can be served.
#[derive(Debug)]
pub(crate) struct FetchRequest {
    pub(crate) low: u64,
    pub(crate) high: u64,
    pub(crate) max_bytes: u64,
    pub(crate) context: GetEntriesContext,
}

/// A group's log as Raft's `Storage`: the entry cache, terms by index, and pending fetches.
pub(crate) struct GroupStorage {
    log: LogHandle,
    region: u64,
    hard_state: HardState,
    conf_state: ConfState,
    truncated: LogPosition,
    last: LogPosition,
    terms: Terms,
    pub(crate) cache: Cache,
    /// Fetched for followers, taken when Raft retries.
    fetched: RefCell<Vec<Vec<Entry>>>,
    fetches: RefCell<Vec<FetchRequest>>,
    /// Metadata of a snapshot that can be sent.
    pub(crate) snapshot: Option<Snapshot>,
    snapshot_requested: Cell<bool>,
}

impl GroupStorage {
    /// Reads a group's state from the log. The caller may raise `hard_state.commit`.
    pub(crate) fn load(
        log: LogHandle,
        region: u64,
        conf_state: ConfState,
        hard_state: HardState,
    ) -> std::result::Result<Self, LogError> {
        let truncated = log.truncated(region);
        let mut last = truncated;
        let mut terms = Terms::default();
        if let Some(index) = log.last_index(region) {
            let first = truncated.index + 1;
            let term_of = |index| match log.entry(region, index)? {
                Some(entry) => Ok(entry.term),
                None => Err(LogError::Corrupt {
                    path: log.dir().to_owned(),
                    detail: format!("entry {index} of raft group {region:016x} is missing"),
                }),
            };
            terms = Terms::load(first, index, term_of)?;
            last = LogPosition { term: terms.get(index).unwrap_or_default(), index };
        }
        Ok(Self {
            log,
            region,
            hard_state,
            conf_state,
            truncated,
            last,
            terms,
            cache: Cache::default(),
            fetched: RefCell::default(),
            fetches: RefCell::default(),
            snapshot: None,
            snapshot_requested: Cell::new(false),
        })
    }

    pub(crate) fn first(&self) -> u64 {
        self.truncated.index + 1
    }

    pub(crate) fn last(&self) -> LogPosition {
        self.last
    }

    /// The first entry of `term`, when that is the last term in the log.
    pub(crate) fn first_of_term(&self, term: u64) -> Option<u64> {
        self.terms.first_of(term)
    }

    /// Sets the initial commit index for Raft.
    pub(crate) fn set_commit(&mut self, index: u64) {
        self.hard_state.commit = index;
    }

    /// Sets Raft's members, also in a snapshot that can be sent.
    pub(crate) fn set_members(&mut self, membership: &Membership) {
        self.conf_state = membership.conf_state();
        if let Some(snapshot) = &mut self.snapshot {
            describe_members(snapshot, membership);
        }
    }

    /// Adds entries that Raft appended, possibly over a conflicting tail.
    pub(crate) fn append(&mut self, entries: &[Entry]) {
        for entry in entries {
            self.terms.set_last(entry.index, entry.term);
            self.last = LogPosition { term: entry.term, index: entry.index };
        }
        self.cache.append(entries);
        let mut fetched = self.fetched.borrow_mut();
        if let Some(first) = entries.first() {
            // Fetched entries may belong to the overwritten tail.
            fetched.retain(|run| run.last().is_some_and(|e| e.index < first.index));
        }
    }

    /// Drops entries up to `at`, which the state machine holds durably.
    pub(crate) fn truncate(&mut self, at: LogPosition) {
        if at.index <= self.truncated.index {
            return;
        }
        self.truncated = at;
        self.terms.trim(at.index + 1);
        self.cache.drop_to(at.index);
        if self.last.index <= at.index {
            self.last = at;
            self.terms.clear();
        }
    }

    /// Restarts the log after a snapshot or the state machine's own position.
    pub(crate) fn reset(&mut self, at: LogPosition) {
        self.truncated = at;
        self.last = at;
        self.terms.clear();
        self.cache = Cache::default();
        self.fetched.borrow_mut().clear();
        self.snapshot = None;
    }

    pub(crate) fn take_fetches(&self) -> Vec<FetchRequest> {
        if self.fetches.borrow().is_empty() {
            return Vec::new();
        }
        std::mem::take(&mut *self.fetches.borrow_mut())
    }

    pub(crate) fn take_snapshot_request(&self) -> bool {
        self.snapshot_requested.take()
    }

    /// Stores requested entries.
    pub(crate) fn put_fetched(&mut self, entries: Vec<Entry>) {
        let mut fetched = self.fetched.borrow_mut();
        // A few followers at most wait at a time; the oldest unused entries are dropped.
        if fetched.len() >= 8 {
            fetched.remove(0);
        }
        fetched.push(entries);
    }

    fn term_at(&self, index: u64) -> Result<u64> {
        if index == self.truncated.index {
            return Ok(self.truncated.term);
        }
        if index == self.last.index {
            return Ok(self.last.term);
        }
        if index < self.truncated.index {
            return Err(Error::Store(StorageError::Compacted));
        }
        if index > self.last.index {
            return Err(Error::Store(StorageError::Unavailable));
        }
        self.terms.get(index).ok_or(Error::Store(StorageError::Unavailable))
    }

    fn read_now(&self, low: u64, high: u64, max: Option<u64>) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let max = max.map(|m| usize::try_from(m).unwrap_or(usize::MAX));
        let cached = self.cache.first().unwrap_or(u64::MAX);
        // The disk may not have the newest entries yet; those are in the cache.
        let read = self.log.entries(self.region, low, high.min(cached), max, &mut entries);
        read.map_err(|e| Error::Store(StorageError::Other(Box::new(e))))?;
        let complete = entries.last().is_some_and(|e| e.index + 1 == high.min(cached));
        if complete && cached < high && max.is_none_or(|m| size_of(&entries) < m as u64) {
            self.cache.extend_into(cached, high, max.map(|m| m as u64), &mut entries);
        }
        Ok(entries)
    }
}

fn size_of(entries: &[Entry]) -> u64 {
    entries.iter().map(cache::size).sum()
}

impl Storage for GroupStorage {
    fn initial_state(&self) -> Result<RaftState> {
        Ok(RaftState::new(self.hard_state.clone(), self.conf_state.clone()))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        context: GetEntriesContext,
    ) -> Result<Vec<Entry>> {
        let max = max_size.into();
        if low <= self.truncated.index {
            return Err(Error::Store(StorageError::Compacted));
        }
        if high > self.last.index + 1 {
            return Err(Error::Store(StorageError::Unavailable));
        }
        let for_follower = context.can_async();
        let mut entries = Vec::new();
        if self.cache.extend_into(low, high, max, &mut entries) {
            if !for_follower {
                return Ok(entries);
            }
            // A follower needs payloads too; send the complete entries.
            if let Some(stripped) = entries.iter().position(is_stripped) {
                entries.truncate(stripped);
            }
            if !entries.is_empty() {
                return Ok(entries);
            }
        }
        if !for_follower {
            return self.read_now(low, high, max);
        }
        let mut fetched = self.fetched.borrow_mut();
        if let Some(found) = fetched.iter().position(|r| r.first().is_some_and(|e| e.index == low))
        {
            let mut run = fetched.swap_remove(found);
            run.retain(|e| e.index < high);
            return Ok(run);
        }
        let max_bytes = max.unwrap_or(u64::MAX);
        self.fetches.borrow_mut().push(FetchRequest { low, high, max_bytes, context });
        Err(Error::Store(StorageError::LogTemporarilyUnavailable))
    }

    fn term(&self, index: u64) -> Result<u64> {
        self.term_at(index)
    }

    fn first_index(&self) -> Result<u64> {
        Ok(self.first())
    }

    fn last_index(&self) -> Result<u64> {
        Ok(self.last.index)
    }

    fn snapshot(&self, request_index: u64, _to: u64) -> Result<Snapshot> {
        // It must connect to the log: a snapshot from before the last trim is useless.
        let floor = request_index.max(self.truncated.index);
        match &self.snapshot {
            Some(snapshot) if snapshot.get_metadata().index >= floor => Ok(snapshot.clone()),
            _ => {
                self.snapshot_requested.set(true);
                Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable))
            }
        }
    }
}
