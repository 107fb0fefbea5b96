//! Making everything applied durable, so that the log can be trimmed.

use std::sync::{Arc, Weak};

use blockio::{IoErrorKind, block_on};
use futures::future::join_all;
use metastore::{Batch, Durability};

use super::{DirtyReplica, Disk, Undurable};
use crate::error::{Result, StorageError};
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
            .filter(|(_, positions)| positions.applied != positions.durable)
            .map(|(id, positions)| (*id, positions.applied))
            .collect();
        let dirty: Vec<Arc<dyn DirtyReplica>> =
            self.dirty.lock().drain().filter_map(|(_, replica)| replica.upgrade()).collect();
        if let Err(error) = self.flush_replicas(&dirty) {
            // They stay dirty, so that a later flush retries, if the disk was full.
            let mut again = self.dirty.lock();
            for replica in &dirty {
                again.entry(replica.id()).or_insert_with(|| Arc::downgrade(replica));
            }
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
            if let Some(positions) = pipelines.get_mut(&id) {
                positions.durable = positions.durable.max(position);
            }
        }
        Ok(())
    }

    /// Writes and syncs the bytes of one replica that wait. Blocks.
    pub(crate) fn flush_replica<R: DirtyReplica + 'static>(&self, replica: &Arc<R>) -> Result<()> {
        self.check()?;
        // Another flush may have taken some of them, and not be done.
        let _one = self.flushing.lock();
        let replica: Arc<dyn DirtyReplica> = Arc::<R>::clone(replica);
        self.flush_replicas(&[replica])?;
        self.check()
    }

    /// Beyond the bound, packed bytes are written now (not synced: the log has them). Blocks.
    pub(crate) fn write_beyond_bound(&self) -> Result<()> {
        if self.pending_bytes() <= self.pending_bound {
            return Ok(());
        }
        let dirty: Vec<Arc<dyn DirtyReplica>> =
            self.dirty.lock().values().filter_map(Weak::upgrade).collect();
        dirty.iter().try_for_each(|replica| replica.write_early())
    }

    fn flush_replicas(&self, dirty: &[Arc<dyn DirtyReplica>]) -> Result<()> {
        let mut written = Vec::with_capacity(dirty.len());
        let mut outcome = Ok(());
        for replica in dirty {
            match replica.write_before_sync() {
                Ok(undurable) => written.push((replica, undurable)),
                Err(error) => outcome = Err(error),
            }
        }
        if outcome.is_ok() {
            outcome = self.sync_all(&written);
        }
        for (replica, undurable) in written {
            match &outcome {
                Ok(()) => Arc::clone(replica).note_durable(&undurable.ends)?,
                Err(_) => replica.keep_undurable(undurable),
            }
        }
        outcome
    }

    fn sync_all(&self, written: &[(&Arc<dyn DirtyReplica>, Undurable)]) -> Result<()> {
        let syncs = written.iter().flat_map(|(replica, undurable)| {
            undurable.to_sync.iter().enumerate().map(move |(place, path)| {
                let (sync, block) = (self.io.sync(Arc::clone(path)), undurable.block_at(place));
                async move {
                    match (sync.await, block) {
                        // The apply skips a block that was deleted meanwhile with its file.
                        (Err(error), Some(local))
                            if error.kind == IoErrorKind::NotFound
                                && !replica.has_row(local)? =>
                        {
                            Ok(())
                        }
                        (synced, _) => synced.map_err(StorageError::io(replica.id())),
                    }
                }
            })
        });
        block_on(join_all(syncs)).into_iter().collect()
    }
}
