//! Replicas with bytes that a flush must make durable.

use std::path::Path;
use std::sync::{Arc, Weak};

use types::{ContainerId, LocalId};

use super::Disk;
use crate::error::Result;

/// A replica whose bytes a flush writes and syncs.
pub(crate) trait DirtyReplica: Send + Sync {
    /// Its container.
    fn id(&self) -> ContainerId;

    /// Writes all pending data, and returns the part that a sync would make durable. Blocks.
    fn write_before_sync(&self) -> Result<Undurable>;

    /// Writes all pending data and has the device start on it; a later flush reports errors. Blocks
    /// for the copy into the page cache, not for the device.
    fn write_early(&self) -> Result<()>;

    /// Returns `true` if the tables have a row of the block.
    fn has_row(&self, local: LocalId) -> Result<bool>;

    /// Records that segments are durable up to these ends.
    fn note_durable(self: Arc<Self>, ends: &[(u32, u64)]) -> Result<()>;

    /// Marks the result of [`write_before_sync`](Self::write_before_sync) as dirty again after the
    /// sync failed.
    fn keep_undurable(&self, undurable: Undurable);
}

/// Bytes in files that only a sync makes durable.
#[derive(Default)]
pub(crate) struct Undurable {
    /// Files to sync: those of the segments, then those of blocks.
    pub(crate) to_sync: Vec<Arc<Path>>,
    /// Ends of the segments' bytes that the sync makes durable.
    pub(crate) ends: Vec<(u32, u64)>,
    /// The blocks whose files are to be synced.
    pub(crate) files: Vec<LocalId>,
}

impl Undurable {
    /// The block whose file is the one to sync at this place; none for a segment.
    pub(super) fn block_at(&self, place: usize) -> Option<LocalId> {
        self.files.get(place.checked_sub(self.ends.len())?).copied()
    }
}

impl Disk {
    /// Records that a replica has bytes that a flush must make durable.
    pub(crate) fn mark_dirty<R: DirtyReplica + 'static>(&self, replica: &Arc<R>) {
        self.dirty.lock().entry(replica.id()).or_insert_with(|| {
            let replica: Weak<R> = Arc::downgrade(replica);
            replica
        });
    }
}
