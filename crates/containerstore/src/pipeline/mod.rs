//! The apply side: what a pipeline's Raft group writes through.

mod apply;
mod commit;
mod finalize;
mod put;

use std::sync::Arc;

use metastore::{Batch, Durability};
use types::{ContainerId, PipelineId};

pub use apply::ApplyBatch;

use super::disk::Disk;
use super::error::Result;
use super::store::ContainerStore;
use super::tables::{self, PIPELINES, Reach};

/// A position in a pipeline's Raft log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Position {
    /// Term of the entry.
    pub term: u64,
    /// Index of the entry.
    pub index: u64,
}

impl PartialOrd for Position {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Position {
    /// By index; the term only tells equal indexes apart.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.index, self.term).cmp(&(other.index, other.term))
    }
}

impl Position {
    /// As a row has it.
    pub(crate) fn encode(self) -> [u8; 16] {
        let mut out = [0; 16];
        out[..8].copy_from_slice(&self.term.to_be_bytes());
        out[8..].copy_from_slice(&self.index.to_be_bytes());
        out
    }

    pub(crate) fn decode(value: &[u8]) -> Option<Self> {
        let (term, index) = value.split_first_chunk::<8>()?;
        let index = <[u8; 8]>::try_from(index).ok()?;
        Some(Self { term: u64::from_be_bytes(*term), index: u64::from_be_bytes(index) })
    }
}

/// How far a pipeline is on a disk.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reached {
    /// Applied since the start, or put back by replay.
    pub applied: Position,
    /// Durable with all bytes: replay starts behind it, the log may be trimmed up to it.
    pub durable: Position,
    /// What the tables had when they were opened: entries up to here only put bytes back.
    pub seen: Position,
}

impl Reached {
    /// Are there entries still to be replayed?
    pub(crate) fn replaying(&self) -> bool {
        self.applied.index < self.seen.index
    }
}

/// One pipeline's part of a disk. Clones share it.
#[derive(Clone)]
pub struct PipelineStore {
    pub(crate) store: ContainerStore,
    pub(crate) disk: Arc<Disk>,
    pub(crate) id: PipelineId,
}

impl PipelineStore {
    /// Opens a pipeline on a disk; a new one starts before the first log entry.
    pub(crate) fn open(store: ContainerStore, disk: Arc<Disk>, id: PipelineId) -> Self {
        disk.pipelines.lock().entry(id).or_default();
        Self { store, disk, id }
    }

    /// The pipeline.
    pub fn id(&self) -> PipelineId {
        self.id
    }

    /// Its disk.
    pub fn disk(&self) -> &Arc<Disk> {
        &self.disk
    }

    pub(crate) fn reached(&self) -> Reached {
        self.disk.pipelines.lock().get(&self.id).copied().unwrap_or_default()
    }

    /// What is durable with all its bytes: replay must start behind it. Entries applied again are
    /// recognised.
    pub fn durable(&self) -> Position {
        self.reached().durable
    }

    /// What is applied and visible.
    pub fn applied(&self) -> Position {
        self.reached().applied
    }

    /// What the tables have the rows of. Entries up to it that replay has not come to yet may lack
    /// their bytes.
    pub fn seen(&self) -> Position {
        self.reached().seen
    }

    /// Whether rows may lack bytes that only the log has: replay has not come to them yet.
    pub fn is_replaying(&self) -> bool {
        self.reached().replaying()
    }

    /// Where a machine goes on that takes over from one that failed within this process: what is
    /// applied is still in memory. A round that got into the tables and no further is recognised.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn resume(&self) -> Result<Position> {
        let key = tables::pipeline_key(self.id, Reach::Applied);
        let row = self.disk.db.get(PIPELINES, &key)?;
        let written = row.and_then(|row| Position::decode(&row)).unwrap_or_default();
        let mut pipelines = self.disk.pipelines.lock();
        let reached = pipelines.entry(self.id).or_default();
        reached.seen = reached.seen.max(written);
        Ok(reached.applied)
    }

    /// Begins a round. One at a time per pipeline.
    pub fn begin(&self) -> ApplyBatch<'_> {
        ApplyBatch::new(self)
    }

    /// Begins a round of blocks that a snapshot lists, in no order.
    pub fn begin_catch_up(&self) -> ApplyBatch<'_> {
        ApplyBatch::catching_up(self)
    }

    /// Makes everything applied durable; the log may be trimmed up to the position returned.
    /// Blocks.
    ///
    /// # Errors
    /// When the disk fails; nothing is lost, the log must be kept.
    pub fn flush(&self) -> Result<Position> {
        self.disk.flush()?;
        Ok(self.durable())
    }

    /// Continues at `position` without the entries before it. Containers of the pipeline that take
    /// writes lack what those entries did, so they become UNHEALTHY.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn restore(&self, position: Position) -> Result<()> {
        for id in self.containers() {
            let container = self.store.container(id)?;
            if container.info().state.is_live() {
                self.store.mark_unhealthy(id, "its replica lagged behind the pipeline's log")?;
            }
        }
        let mut batch = Batch::new();
        for reach in [Reach::Applied, Reach::Durable] {
            batch.put(PIPELINES, tables::pipeline_key(self.id, reach), position.encode());
        }
        self.disk.db.write(batch, Durability::NoWal)?;
        self.disk.db.flush()?;
        let reached = Reached { applied: position, durable: position, seen: position };
        self.disk.pipelines.lock().insert(self.id, reached);
        Ok(())
    }

    /// The pipeline's containers.
    pub fn containers(&self) -> Vec<ContainerId> {
        self.store.containers_of(self.id)
    }

    /// Forgets the pipeline: it is closed for good. Its containers stay.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn remove(&self) -> Result<()> {
        // What was applied must not depend on a log that is about to go.
        self.disk.flush()?;
        let mut batch = Batch::new();
        for reach in [Reach::Applied, Reach::Durable] {
            batch.delete(PIPELINES, tables::pipeline_key(self.id, reach));
        }
        self.disk.db.write(batch, Durability::NoWal)?;
        self.disk.db.flush()?;
        self.disk.pipelines.lock().remove(&self.id);
        Ok(())
    }
}
