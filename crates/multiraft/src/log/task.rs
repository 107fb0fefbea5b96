//! Writes that groups hand to a log.

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
    /// Whether this replica may lack what it once confirmed.
    pub(crate) completeness: Option<Completeness>,
    /// Drops the entries up to here.
    pub(crate) truncate: Option<LogPosition>,
    /// With `truncate`: drops entries further on, too, up to here.
    pub(crate) drop_through: u64,
    /// Removes the group.
    pub(crate) erase: bool,
    /// What to notify when it is on disk.
    pub(crate) done: Done,
}

/// See [`WriteTask::done`].
#[derive(Default)]
pub(crate) enum Done {
    #[default]
    Unawaited,
    /// A loop, with the number of the ready.
    Ready { inbox: Arc<Inbox<Event>>, number: u64 },
    /// A loop that waits for the members to be on disk.
    Members { inbox: Arc<Inbox<Event>> },
    /// A caller that waits.
    Waiter(oneshot::Sender<()>),
    /// A thread that waits.
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

    /// The engine's number of the group. A group that is new gets one; one that is erased loses
    /// its own, which is free once the erasure is on disk.
    pub(super) fn region_in(&self, regions: &mut Regions) -> Option<u64> {
        if self.erase {
            return regions.retire(self.region);
        }
        if self.is_empty() {
            return None;
        }
        Some(regions.claim(self.region))
    }

    /// Encodes it. `region`: see [`region_in`](Self::region_in).
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
