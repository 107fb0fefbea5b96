//! Reads from a log: groups, their state, their entries.

use uuid::Uuid;

use super::engine::{EngineError, EntryExt, log_error, meta};
use super::format::{self, PersistedGroup};
use super::{Completeness, LogHandle};
use crate::consensus::{Entry, HardState};
use crate::error::LogError;
use crate::id::fold;
use crate::machine::LogPosition;

impl LogHandle {
    /// The groups in the log, for reopening them after a restart.
    pub fn groups(&self) -> Vec<PersistedGroup> {
        let engine = &self.core.engine;
        engine.raft_groups().into_iter().filter_map(|region| meta(engine, region)).collect()
    }

    /// Returns `true` if the log holds a group: its members are on disk.
    pub fn holds(&self, group: Uuid) -> bool {
        self.meta(fold(group)).is_some_and(|known| known.id == group)
    }

    /// The completeness of a group as recorded in the log.
    pub(crate) fn completeness(&self, group: u64) -> Option<Completeness> {
        let value = self.core.engine.get(self.region(group)?, format::COMPLETENESS)?;
        Completeness::decode(&value)
    }

    /// The engine's number of a group, if it has one.
    fn region(&self, group: u64) -> Option<u64> {
        self.core.regions.lock().get(group)
    }

    pub(crate) fn meta(&self, group: u64) -> Option<PersistedGroup> {
        meta(&self.core.engine, self.region(group)?)
    }

    pub(crate) fn hard_state(&self, group: u64) -> Result<HardState, LogError> {
        let Some(region) = self.region(group) else { return Ok(HardState::default()) };
        let found = self.core.engine.get_message::<HardState>(region, format::HARD);
        Ok(found.map_err(|e| self.read_error(e))?.unwrap_or_default())
    }

    pub(crate) fn truncated(&self, group: u64) -> LogPosition {
        let value = self.region(group).and_then(|r| self.core.engine.get(r, format::TRUNCATED));
        value.and_then(|v| format::decode_position(&v)).unwrap_or_default()
    }

    /// The last entry of a group, if any.
    pub(crate) fn last_index(&self, group: u64) -> Option<u64> {
        self.core.engine.last_index(self.region(group)?)
    }

    pub(crate) fn entry(&self, group: u64, index: u64) -> Result<Option<Entry>, LogError> {
        let Some(region) = self.region(group) else { return Ok(None) };
        let found = self.core.engine.get_entry::<EntryExt>(region, index);
        found.map_err(|e| self.read_error(e))
    }

    /// Entries from `low` up to (not including) `high`, at least one if there is one, limited to
    /// `max_bytes`.
    pub(crate) fn entries(
        &self,
        group: u64,
        low: u64,
        high: u64,
        max_bytes: Option<usize>,
        into: &mut Vec<Entry>,
    ) -> Result<(), LogError> {
        let Some(region) = self.region(group) else { return Ok(()) };
        let engine = &self.core.engine;
        let fetched = engine.fetch_entries_to::<EntryExt>(region, low, high, max_bytes, into);
        fetched.map(|_| ()).map_err(|e| self.read_error(e))
    }

    fn read_error(&self, error: EngineError) -> LogError {
        log_error(&self.core.dir, error)
    }
}
