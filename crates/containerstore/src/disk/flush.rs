//! Making everything applied durable, so that the log can be trimmed.

use std::sync::Arc;

use blockio::{IoErrorKind, block_on};
use futures::future::join_all;
use metastore::{Batch, Durability};

use super::Disk;
use crate::containers::Container;
use crate::error::{Result, StorageError};
use crate::segments::Undurable;
use crate::tables::{self, PIPELINES, Reach};

impl Disk {
    /// Writes and syncs all bytes that wait, then the tables, and moves every pipeline's durable
    /// position to what was applied when this began. A disk that has failed is never flushed again:
    /// its logs stay as they are. Blocks.
    pub(crate) fn flush(&self) -> Result<()> {
        self.check()?;
        let _one = self.flushing.lock();
        let number = self.flushes.begin();
        // Positions first: bytes of everything applied up to them are in `dirty` by now.
        let positions: Vec<_> = self
            .pipelines
            .lock()
            .iter()
            .filter(|(_, reached)| reached.applied != reached.durable)
            .map(|(id, reached)| (*id, reached.applied))
            .collect();
        let dirty: Vec<Arc<Container>> =
            self.dirty.lock().drain().filter_map(|(_, container)| container.upgrade()).collect();
        if let Err(error) = self.flush_containers(&dirty) {
            // They stay dirty, so that a later flush tries again, if there was no room.
            dirty.iter().for_each(|container| self.mark_dirty(container));
            return Err(error);
        }
        let mut batch = Batch::new();
        for (id, position) in &positions {
            batch.put(PIPELINES, tables::pipeline_key(*id, Reach::Durable), position.encode());
        }
        self.db.write(batch, Durability::NoWal)?;
        self.db.flush()?;
        self.check()?;
        self.flushes.end(number);
        let mut pipelines = self.pipelines.lock();
        for (id, position) in positions {
            if let Some(reached) = pipelines.get_mut(&id) {
                reached.durable = reached.durable.max(position);
            }
        }
        Ok(())
    }

    /// Writes and syncs the bytes of one container that wait. Blocks.
    pub(crate) fn flush_container(&self, container: &Arc<Container>) -> Result<()> {
        self.check()?;
        // Another flush may have taken some of them, and not be done.
        let _one = self.flushing.lock();
        self.flush_containers(std::slice::from_ref(container))?;
        self.check()
    }

    fn flush_containers(&self, dirty: &[Arc<Container>]) -> Result<()> {
        let mut written = Vec::with_capacity(dirty.len());
        let mut outcome = Ok(());
        for container in dirty {
            match container.write_before_sync() {
                Ok(undurable) => written.push((container, undurable)),
                Err(error) => outcome = Err(error),
            }
        }
        if outcome.is_ok() {
            outcome = self.sync_all(&written);
        }
        for (container, undurable) in written {
            match &outcome {
                Ok(()) => container.segments_are_durable(&undurable.ends)?,
                Err(_) => container.keep_undurable(undurable),
            }
        }
        outcome
    }

    fn sync_all(&self, written: &[(&Arc<Container>, Undurable)]) -> Result<()> {
        let syncs = written.iter().flat_map(|(container, undurable)| {
            undurable.to_sync.iter().enumerate().map(move |(place, path)| {
                let (sync, block) = (self.io.sync(Arc::clone(path)), undurable.block_at(place));
                async move {
                    match (sync.await, block) {
                        // Applying leaves a block out that was deleted meanwhile, file and all.
                        (Err(error), Some(local))
                            if error.kind == IoErrorKind::NotFound
                                && container.block_row(local)?.is_none() =>
                        {
                            Ok(())
                        }
                        (synced, _) => synced.map_err(StorageError::io(container.id())),
                    }
                }
            })
        });
        block_on(join_all(syncs)).into_iter().collect()
    }
}
