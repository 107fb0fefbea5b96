//! The end of a round: one batch, and what became of the containers.

use std::sync::{Arc, Weak};

use blockio::block_on;
use container::ContainerState;
use metastore::Durability;

use super::apply::{ApplyBatch, Touched};
use crate::storage::containers::{Container, Sums};
use crate::storage::error::{Result, StorageError};
use crate::storage::tables::{self, DELETED_EARLY, PIPELINES, Reach};

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
            let _guards: Vec<_> =
                self.touched.values().map(|touched| touched.container.commit.lock()).collect();
            let mut after = Vec::with_capacity(self.touched.len());
            for touched in self.touched.values() {
                let sums = touched.sums_after();
                sums.put_changed(&touched.container, &mut self.batch);
                let numbers = touched.segments.iter().copied();
                touched.container.put_segment_rows(numbers, &mut self.batch);
                for local in &touched.deleted_early {
                    let key = tables::block_key(touched.container.id(), *local);
                    self.batch.delete(DELETED_EARLY, key);
                }
                after.push(sums);
            }
            // A round without an effect needs no row: replaying it has none either.
            if !self.batch.is_empty() {
                let reach = self.position.max(self.reached.seen);
                let key = tables::pipeline_key(pipeline.id, Reach::Applied);
                self.batch.put(PIPELINES, key, reach.encode());
            }
            disk.db.write(std::mem::take(&mut self.batch), Durability::NoWal)?;
            for (touched, sums) in self.touched.values().zip(after) {
                touched.container.set_sums(sums);
            }
        }
        if let Some(reached) = disk.pipelines.lock().get_mut(&pipeline.id) {
            reached.applied = reached.applied.max(self.position);
        }
        self.finish()
    }

    /// What follows from the round outside of the tables.
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
        // Beyond the bound, packed bytes are written now (not synced: the log has them).
        if disk.pending_bytes() > disk.pending_bound {
            let dirty: Vec<Arc<Container>> =
                disk.dirty.lock().values().filter_map(Weak::upgrade).collect();
            dirty.iter().try_for_each(|container| container.write_early())?;
        }
        Ok(())
    }
}

impl Touched {
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
    if touched.deleted_early.is_empty() {
        return Ok(());
    }
    let container = &touched.container;
    let paths =
        touched.deleted_early.iter().map(|local| container.block_path(*local).to_path_buf());
    let gone = container.disk().io.unlink(paths.collect());
    block_on(gone).map_err(StorageError::io(container.id()))?;
    container.forget_deleted_early(&touched.deleted_early);
    Ok(())
}
