//! Writes of groups to a log.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::engine::{Command, EngineError, LogBatch};
use super::format::{COMPLETENESS, HARD, META, TRUNCATED, encode_position};
use super::regions::Regions;
use super::{Completeness, EntryExt};
use crate::consensus::{Entry, HardState};
use crate::event::Event;
use crate::inbox::Inbox;
use crate::machine::LogPosition;

/// One group's part of a write.
#[derive(Default)]
pub(crate) struct WriteTask {
    /// The group's folded id.
    pub(crate) region: u64,
    /// Members, for a group that is new or whose members have changed.
    pub(crate) meta: Option<Vec<u8>>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) hard_state: Option<HardState>,
    /// Completeness of the replica, if it has changed: it may lack entries that it once confirmed.
    pub(crate) completeness: Option<Completeness>,
    /// Drops the entries up to this position.
    pub(crate) truncate: Option<LogPosition>,
    /// With `truncate`: drops later entries, too, up to this index.
    pub(crate) drop_through: u64,
    /// Removes the group.
    pub(crate) erase: bool,
    /// Recipient of the notification once the write is on disk.
    pub(crate) done: Done,
}

/// Recipient of the notification that a write is on disk.
#[derive(Default)]
pub(crate) enum Done {
    #[default]
    Unawaited,
    /// An event loop, with the number of its `Ready`.
    Ready { inbox: Arc<Inbox<Event>>, number: u64 },
    /// An event loop that waits until the members are on disk.
    Members { inbox: Arc<Inbox<Event>> },
    /// A waiting task.
    Waiter(oneshot::Sender<()>),
    /// A waiting thread.
    Thread(std::sync::mpsc::SyncSender<()>),
}

impl WriteTask {
    pub(crate) fn bytes(&self) -> usize {
        self.entries.iter().map(|e| e.data.len() + e.context.len() + 32).sum()
    }

    fn is_empty(&self) -> bool {
        self.meta.is_none()
            && self.entries.is_empty()
            && self.hard_state.is_none()
            && self.completeness.is_none()
            && self.truncate.is_none()
    }

    /// Returns the engine's number of the group. Assigns one to a new group. Retires that of an
    /// erased group, which is free once the erasure is on disk.
    pub(super) fn region_in(&self, regions: &mut Regions) -> Option<u64> {
        if self.erase {
            return regions.retire(self.region);
        }
        if self.is_empty() {
            return None;
        }
        Some(regions.claim(self.region))
    }

    /// Encodes the task. `region`: see [`region_in`](Self::region_in).
    pub(super) fn add_to(
        &self,
        region: Option<u64>,
        batch: &mut LogBatch,
    ) -> Result<(), EngineError> {
        let Some(region) = region else { return Ok(()) };
        if self.erase {
            batch.add_command(region, Command::Clean);
            return Ok(());
        }
        if let Some(meta) = &self.meta {
            batch.put(region, META.to_vec(), meta.clone())?;
        }
        if let Some(at) = self.truncate {
            let index = at.index.max(self.drop_through) + 1;
            batch.add_command(region, Command::Compact { index });
            batch.put(region, TRUNCATED.to_vec(), encode_position(at))?;
        }
        if let Some(completeness) = self.completeness {
            batch.put(region, COMPLETENESS.to_vec(), completeness.encode())?;
        }
        if let Some(hard_state) = &self.hard_state {
            batch.put_message(region, HARD.to_vec(), hard_state)?;
        }
        batch.add_entries::<EntryExt>(region, &self.entries)
    }
}
