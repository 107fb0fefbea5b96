//! Blocks that were deleted before all of their entries were applied.
//!
//! A lagging replica applies a PutBlock whose block is deleted already: by an order of SCM that
//! arrived here first, or on all other replicas, so that none has the bytes any more. Also the
//! client of a block that was put, and deleted by another client, may put it again. The deletion is
//! durably recorded before the entry is confirmed, so that applying the log depends on nothing but
//! the log and this disk. The notes end when the container takes no more writes.

use metastore::{Batch, Durability};
use rustc_hash::FxHashMap;
use types::{ContainerId, LocalId};

use super::Container;
use crate::disk::Disk;
use crate::tables::{self, DELETED_EARLY};

/// Entries of a block that leave no data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeletedBeforeWrite {
    /// Everything: SCM had it deleted here.
    All,
    /// The entries up to this index: the other replicas have applied them and no longer have the
    /// block. If another leader's entry replaces the last of them, a later one may write a block
    /// that exists.
    Entries(u64),
}

impl DeletedBeforeWrite {
    /// Returns `true` if an entry leaves no data.
    pub fn covers(self, index: u64) -> bool {
        match self {
            Self::All => true,
            Self::Entries(last) => index <= last,
        }
    }

    /// Returns `true` if this entry is the last one that the note covers, so that applying it ends
    /// the note.
    pub fn ends_with(self, index: u64) -> bool {
        self == Self::Entries(index)
    }

    /// Encodes a row's value: empty, or the index, eight bytes, big endian.
    pub fn encode(self) -> Vec<u8> {
        match self {
            Self::All => Vec::new(),
            Self::Entries(index) => index.to_be_bytes().to_vec(),
        }
    }

    /// Decodes a row's value; `None` if it is invalid.
    pub fn decode(value: &[u8]) -> Option<Self> {
        match value {
            [] => Some(Self::All),
            index => Some(Self::Entries(u64::from_be_bytes(index.try_into().ok()?))),
        }
    }
}

impl Container {
    /// Number of notes at which a container is closed, which ends them: they are kept in memory, 32
    /// bytes each, and a container whose blocks are deleted as fast as they arrive is never full.
    pub(crate) const MOST_NOTES: usize = 200_000;

    /// Returns `true` if it must be closed because of the number of its notes.
    pub fn has_many_notes(&self) -> bool {
        self.meta.lock().deleted_early.len() >= Self::MOST_NOTES
    }

    /// Returns the note of a block that was deleted before its write.
    pub(crate) fn deleted_early(&self, local: LocalId) -> Option<DeletedBeforeWrite> {
        self.meta.lock().deleted_early.get(&local).copied()
    }

    /// Records it in memory; the caller writes the row.
    pub(crate) fn note_deleted_early(
        &self,
        locals: impl IntoIterator<Item = LocalId>,
        early: DeletedBeforeWrite,
    ) {
        let noted = locals.into_iter().map(|local| (local, early));
        self.meta.lock().deleted_early.extend(noted);
    }

    /// Records that rows of blocks were removed, or that blocks are noted as deleted before their
    /// write. The caller holds the commit lock.
    pub(crate) fn note_deletion(&self) {
        let flush = self.disk.flushes.next();
        let mut meta = self.meta.lock();
        meta.deletions = meta.deletions.wrapping_add(1);
        meta.deletions_flush = flush;
    }

    /// Returns `true` if all deletions passed to [`note_deletion`](Self::note_deletion) survive a
    /// crash.
    pub(crate) fn deletions_are_durable(&self) -> bool {
        let flush = self.meta.lock().deletions_flush;
        self.disk.flushes.has_ended(flush)
    }

    /// Counts the calls of [`note_deletion`](Self::note_deletion) since the start. A round of the
    /// log that read rows compares it before it writes, to find deletions in between.
    pub(crate) fn deletions(&self) -> u64 {
        self.meta.lock().deletions
    }

    /// Ends the notes of a container that takes no more writes: no entry that they cover is applied
    /// to it. Rows that stay are removed when the container is loaded.
    pub(crate) fn end_deleted_early(&self) {
        // A deletion that found it in its earlier state adds its notes before.
        let _commit = self.commit.lock();
        let ended = std::mem::take(&mut self.meta.lock().deleted_early);
        drop_ended(&self.disk, self.id, &ended);
    }

    /// Forgets it in memory; the rows are the caller's.
    pub(crate) fn forget_deleted_early(&self, locals: impl Iterator<Item = LocalId>) {
        let known = &mut self.meta.lock().deleted_early;
        locals.for_each(|local| _ = known.remove(&local));
    }
}

/// Removes the rows of notes that have ended.
pub(crate) fn drop_ended(
    disk: &Disk,
    id: ContainerId,
    ended: &FxHashMap<LocalId, DeletedBeforeWrite>,
) {
    if ended.is_empty() {
        return;
    }
    let mut batch = Batch::new();
    batch.delete_range(DELETED_EARLY, tables::prefix(id), tables::prefix_end(id));
    if let Err(error) = disk.db.write(batch, Durability::NoWal) {
        tracing::warn!(container = %id, %error, "rows of deleted blocks stay; the next start removes them");
    }
}
