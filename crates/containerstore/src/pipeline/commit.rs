//! The end of a round: one batch, and what became of the containers.

use std::sync::Arc;

use blockio::block_on;
use container::ContainerState;
use metastore::{Batch, Durability};
use types::LocalId;

use super::apply::{ApplyBatch, Left, Touched};
use crate::containers::{DeletedBeforeWrite, Sums};
use crate::error::{Result, StorageError};
use crate::tables::{self, BLOCK_DATA, DELETED_EARLY, PIPELINES, Reach};

impl ApplyBatch<'_> {
    /// Writes the round: one batch without RocksDB's log, with the pipeline's position in it.
    ///
    /// # Errors
    /// When the disk fails. The pipeline must stop then: entries that others have applied are not
    /// applied here.
    pub fn commit(mut self) -> Result<()> {
        let pipeline = self.pipeline;
        let disk = &pipeline.disk;
        {
            // In the order of their ids, so that two rounds cannot wait for each other.
            let containers: Vec<_> =
                self.touched.values().map(|touched| Arc::clone(&touched.container)).collect();
            let _guards: Vec<_> =
                containers.iter().map(|container| container.commit.lock()).collect();
            let mut after = Vec::with_capacity(self.touched.len());
            for touched in self.touched.values_mut() {
                touched.leave_deleted(&mut self.batch)?;
                if self.catching_up {
                    touched.bcsid = 0;
                }
                let sums = touched.sums_after();
                sums.put_changed(&touched.container, &mut self.batch);
                let numbers = touched.segments.iter().copied();
                touched.container.put_segment_rows(numbers, &mut self.batch);
                touched.keep_later_notes();
                for (local, _) in &touched.early_ended {
                    let key = tables::block_key(touched.container.id(), *local);
                    self.batch.delete(DELETED_EARLY, key);
                }
                after.push(sums);
            }
            // A round without an effect needs no row: replaying it has none either.
            if !self.batch.is_empty() {
                let reach = self.position.max(self.positions.seen);
                let key = tables::pipeline_key(pipeline.id, Reach::Applied);
                self.batch.put(PIPELINES, key, reach.encode());
            }
            disk.db.write(std::mem::take(&mut self.batch), Durability::NoWal)?;
            for (touched, sums) in self.touched.values().zip(after) {
                touched.container.set_sums(sums);
                let ended = touched.early_ended.iter().map(|(local, _)| *local);
                touched.container.forget_deleted_early(ended);
                touched
                    .container
                    .note_deleted_early(touched.gone.iter().copied(), DeletedBeforeWrite::All);
            }
        }
        if let Some(positions) = disk.pipelines.lock().get_mut(&pipeline.id) {
            positions.applied = positions.applied.max(self.position);
        }
        self.finish()
    }

    /// Carries out the round's effects outside of the tables.
    fn finish(self) -> Result<()> {
        let (pipeline, disk) = (self.pipeline, &self.pipeline.disk);
        for touched in self.touched.values() {
            remove_early(touched)?;
            pipeline.store.check_fullness(&touched.container);
            if touched.closed {
                let closed =
                    pipeline.store.change_state(&touched.container, ContainerState::Closed);
                match closed {
                    // It was closed before, and was moved to another disk or removed meanwhile.
                    Err(StorageError::Transition { .. })
                        if touched.container.state() == ContainerState::Deleted => {}
                    other => other?,
                }
            }
        }
        disk.write_beyond_bound()
    }
}

impl Touched {
    /// Skips blocks that were deleted since this round read them: their bytes may be freed already,
    /// and the transactions that name them done. A round may be long, when it fetches blocks of a
    /// snapshot. The caller holds the commit lock.
    fn leave_deleted(&mut self, batch: &mut Batch) -> Result<()> {
        let Self { container, blocks, .. } = &*self;
        if container.deletions() == self.deletions {
            return Ok(());
        }
        let mut gone = Vec::new();
        for (local, Left { existing, change, .. }) in blocks {
            let early = container.deleted_early(*local);
            let is_gone = match change.was_there {
                true => container.block_row(*local)?.is_none(),
                false => early.is_some_and(|early| early.covers(existing.state.bcsid)),
            };
            if is_gone {
                gone.push((*local, existing.packed, *change));
            }
        }
        for (local, packed, change) in gone {
            let key = tables::block_key(self.container.id(), local);
            batch.delete(BLOCK_DATA, key.clone());
            // What else is in the log of it leaves nothing, too.
            batch.put(DELETED_EARLY, key, DeletedBeforeWrite::All.encode());
            self.added_bytes = self.added_bytes.saturating_sub(change.added_bytes);
            self.added_blocks = self.added_blocks.saturating_sub(change.added_blocks);
            if let Some(packed) = packed {
                self.container.unplace(&packed);
            }
            // The deletion took it away from there as well.
            if let Some(old) = change.left_place {
                self.container.place_back(&old);
                self.segments.insert(old.segment);
            }
            self.gone.push(local);
        }
        Ok(())
    }

    /// Keeps notes that are newer than the round's: SCM had the block deleted, or a later entry
    /// leaves no data either. The caller holds the commit lock.
    fn keep_later_notes(&mut self) {
        let Self { container, gone, early_ended, .. } = self;
        early_ended.retain(|(local, index)| {
            !gone.contains(local)
                && container.deleted_early(*local) == Some(DeletedBeforeWrite::Entries(*index))
        });
    }

    fn sums_after(&self) -> Sums {
        let mut sums = self.container.sums();
        sums.used = sums.used.saturating_add(self.added_bytes);
        sums.blocks = sums.blocks.saturating_add(self.added_blocks);
        sums.bcsid = sums.bcsid.max(self.bcsid);
        sums
    }
}

/// Bytes that came after the block was deleted go at once.
fn remove_early(touched: &Touched) -> Result<()> {
    let deleted = touched.deleted_early.iter().chain(&touched.gone);
    let container = &touched.container;
    let path = |local: &LocalId| container.block_path(*local).to_path_buf();
    let paths: Vec<_> = deleted.clone().map(path).collect();
    if paths.is_empty() {
        return Ok(());
    }
    let mut to_sync = container.segments.lock();
    deleted.for_each(|local| _ = to_sync.files.remove(local));
    drop(to_sync);
    // A crash that brings a row back, or an entry without its note, must find the bytes.
    if !container.deletions_are_durable() {
        container.disk().flush()?;
    }
    let gone = container.disk().io.unlink(paths);
    block_on(gone).map_err(StorageError::io(container.id()))?;
    Ok(())
}
