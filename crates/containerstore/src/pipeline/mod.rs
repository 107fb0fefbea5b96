//! The apply side: what a pipeline's Raft group writes through.

mod apply;
mod commit;
mod finalize;
mod put;

use std::sync::Arc;

use metastore::{Batch, Durability};
use types::{ContainerId, PipelineId};

pub use apply::ApplyBatch;

use crate::disk::Disk;
use crate::error::{Result, StorageError};
use crate::position::{PipelinePositions, Position};
use crate::store::ContainerStore;
use crate::tables::{self, PIPELINES, Reach};

/// One pipeline's part of a disk. Clones share it.
#[derive(Clone)]
pub struct PipelineStore {
    pub(crate) store: ContainerStore,
    pub(crate) disk: Arc<Disk>,
    pub(crate) id: PipelineId,
}

impl ContainerStore {
    /// Opens a pipeline's part of a disk, creating it if it is new.
    ///
    /// # Errors
    /// When the pipeline left its positions on another disk.
    pub fn open_pipeline(&self, id: PipelineId, disk: &Arc<Disk>) -> Result<PipelineStore> {
        let elsewhere = self
            .disks()
            .iter()
            .find(|other| other.id() != disk.id() && other.pipelines.lock().contains_key(&id));
        if let Some(other) = elsewhere {
            let why = format!("pipeline {id} is on disk {}", other.id());
            return Err(StorageError::Disk { path: disk.path().to_owned(), reason: why });
        }
        Ok(PipelineStore::open(self.clone(), Arc::clone(disk), id))
    }
}

impl PipelineStore {
    /// Opens a pipeline on a disk; a new one starts before the first log entry.
    fn open(store: ContainerStore, disk: Arc<Disk>, id: PipelineId) -> Self {
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

    pub(crate) fn positions(&self) -> PipelinePositions {
        self.disk.pipelines.lock().get(&self.id).copied().unwrap_or_default()
    }

    /// Returns the position up to which all entries are durable with their bytes: replay must start
    /// after it. Entries applied again are recognised.
    pub fn durable(&self) -> Position {
        self.positions().durable
    }

    /// Returns the position up to which all entries are applied and visible.
    pub fn applied(&self) -> Position {
        self.positions().applied
    }

    /// Returns the position up to which the tables have rows. Entries up to it that replay has not
    /// reached yet may lack their bytes.
    pub fn seen(&self) -> Position {
        self.positions().seen
    }

    /// Returns `true` if rows may lack bytes that only the log has: replay has not reached them
    /// yet.
    pub fn is_replaying(&self) -> bool {
        self.positions().replaying()
    }

    /// Returns the position at which a machine continues after another one failed within this
    /// process: applied entries are still in memory. A round that only reached the tables is
    /// recognised.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn resume(&self) -> Result<Position> {
        let key = tables::pipeline_key(self.id, Reach::Applied);
        let row = self.disk.db.get(PIPELINES, &key)?;
        let written = row.and_then(|row| Position::decode(&row)).unwrap_or_default();
        let mut pipelines = self.disk.pipelines.lock();
        let positions = pipelines.entry(self.id).or_default();
        positions.seen = positions.seen.max(written);
        Ok(positions.applied)
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
        let positions = PipelinePositions { applied: position, durable: position, seen: position };
        self.disk.pipelines.lock().insert(self.id, positions);
        Ok(())
    }

    /// The pipeline's containers.
    pub fn containers(&self) -> Vec<ContainerId> {
        self.store.containers_of(self.id)
    }

    /// Removes the pipeline: it is closed permanently. Its containers stay.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn remove(&self) -> Result<()> {
        // Applied entries must not depend on a log that will be erased.
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
