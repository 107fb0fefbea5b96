//! PutBlock and PutSmallFile as the log orders them.

use blockio::{WriteMode, block_on};
use bytes::Bytes;
use container::chunks::{self, BlockState, Merged};
use proto::datanode::{BlockData, ChunkInfo};
use types::{BlockId, ContainerId, LocalId};

use super::Position;
use super::apply::{ApplyBatch, Change, Existing, Left, Touched};
use crate::block::Committed;
use crate::error::{Result, StorageError};
use crate::tables::{self, BLOCK_DATA, Packed};

impl ApplyBatch<'_> {
    /// Commits a block whose chunks are in its file, durable before the entry was appended.
    ///
    /// # Errors
    /// The command's own failure.
    pub fn put_block(&mut self, at: Position, block: &BlockData) -> Result<Committed> {
        self.advance(at);
        if !chunks::is_incremental(block) {
            return self.put_whole(at, block);
        }
        let id = BlockId::from_datanode(&block.block_id);
        let is_replay = self.is_replay(at);
        let touched = self.touch(id.container)?;
        if !is_replay && touched.was_deleted_early(id.local, at) {
            // The block that it extends may be deleted already, and the list is incomplete without
            // it.
            let touched = self.touch_writable(id.container)?;
            touched.drop_early(id.local, at)?;
            let length = block.chunks.last().map_or(0, |c| c.offset.saturating_add(c.len));
            let replica_index = block.block_id.replica_index();
            let block = BlockId { bcsid: at.index, ..id };
            return Ok(Committed { block, length, replica_index });
        }
        let there = touched.row(id.local)?.map_or_else(Vec::new, |row| row.chunks);
        self.put_whole(at, &chunks::extend(&there, block))
    }

    /// Commits a block by its whole list.
    fn put_whole(&mut self, at: Position, block: &BlockData) -> Result<Committed> {
        let (committed, id) = check(at, block)?;
        if self.is_replay(at) {
            return Ok(committed);
        }
        let touched = self.touch_writable(id.container)?;
        if touched.was_deleted_early(id.local, at) {
            touched.drop_early(id.local, at)?;
            return Ok(committed);
        }
        let existing = touched.existing_writable(id)?;
        if existing.is_some_and(|existing| existing.packed.is_some()) {
            return Err(StorageError::Packed(id));
        }
        let was_there = existing.is_some();
        let merged = merge(existing, &committed)?;
        let found = touched.container.file_length(id.local)?;
        if found < committed.length {
            // The bytes were synced before the entry was appended: this disk has lost some.
            let expected = committed.length;
            let error = StorageError::FileInconsistent { block: committed.block, expected, found };
            self.pipeline.store.mark_unhealthy(id.container, &error.to_string())?;
            return Err(error);
        }
        let row = tables::encode_block(block, at.index, committed.length, None);
        touched.note(id.local, merged, Place { was_there, ..Place::default() }, row.clone());
        self.batch.put(BLOCK_DATA, tables::block_key(id.container, id.local), row);
        Ok(committed)
    }

    /// Commits a block with its bytes, which came in the log entry. Blocks up to the packing
    /// threshold go into a segment; they are readable at once and on disk after the next flush.
    ///
    /// # Errors
    /// The command's own failure.
    pub fn put_small_file(
        &mut self,
        at: Position,
        block: &BlockData,
        chunk: &ChunkInfo,
        data: Bytes,
    ) -> Result<Committed> {
        self.advance(at);
        let (committed, id) = check(at, block)?;
        chunks::validate_write(chunk, data.len())
            .map_err(|error| StorageError::Chunks { block: id, error })?;
        if self.is_replay(at) {
            self.put_back(&committed, chunk, data)?;
            return Ok(committed);
        }
        let one = block.chunks.len() == 1 && chunk.offset == 0;
        let packable = one
            && committed.length == data.len() as u64
            && committed.length <= self.pipeline.store.options().small_block_max;
        let segment_size = self.pipeline.store.options().segment_size;
        self.pipeline.store.cache_written(id, chunk, &data);
        let touched = self.touch_writable(id.container)?;
        if touched.was_deleted_early(id.local, at) {
            touched.drop_early(id.local, at)?;
            return Ok(committed);
        }
        let existing = touched.existing_writable(id)?;
        let merged = merge(existing, &committed)?;
        let old = existing.and_then(|existing| existing.packed);
        let packed = match (packable, existing, old) {
            (true, None, _) | (true, _, Some(_)) => {
                let container = &touched.container;
                Some(container.append_record(id.local, committed.block.bcsid, data, segment_size))
            }
            (false, _, Some(_)) => return Err(StorageError::Packed(id)),
            (_, _, None) => {
                write_file(touched, id.local, chunk, data)?;
                None
            }
        };
        if let Some(old) = old {
            touched.container.unplace(&old);
            touched.segments.insert(old.segment);
        }
        let row = tables::encode_block(block, at.index, committed.length, packed.as_ref());
        let place = Place { was_there: existing.is_some(), old, packed };
        touched.note(id.local, merged, place, row.clone());
        self.batch.put(BLOCK_DATA, tables::block_key(id.container, id.local), row);
        Ok(committed)
    }

    /// An entry that the tables have already: only its bytes may be missing.
    fn put_back(&mut self, committed: &Committed, chunk: &ChunkInfo, data: Bytes) -> Result<()> {
        let id = committed.block;
        let Ok(touched) = self.touch(id.container) else { return Ok(()) };
        let Some(row) = touched.container.block_row(id.local)? else { return Ok(()) };
        if row.bcsid() != id.bcsid {
            return Ok(());
        }
        match row.packed {
            Some(packed) => touched.container.put_back(&packed, id.local, id.bcsid, data),
            None => write_file(touched, id.local, chunk, data),
        }
    }
}

impl Touched {
    /// Returns `true` if the block was deleted before its write, by the entry at `at`.
    fn was_deleted_early(&self, local: LocalId, at: Position) -> bool {
        self.container.deleted_early(local).is_some_and(|early| early.covers(at.index))
    }

    /// The block was deleted before its write. The container has reached this position all the
    /// same: readers receive the error that the block does not exist, not that this replica lags.
    fn drop_early(&mut self, local: LocalId, at: Position) -> Result<()> {
        // SCM's transaction deletes the row and bytes of an earlier entry together.
        if self.existing(local)?.is_none() {
            self.deleted_early.push(local);
        }
        if self.container.deleted_early(local).is_some_and(|early| early.ends_with(at.index)) {
            self.early_ended.push((local, at.index));
        }
        self.bcsid = self.bcsid.max(at.index);
        Ok(())
    }

    /// The block as it is, unless it takes no writes any more.
    fn existing_writable(&self, id: BlockId) -> Result<Option<Existing>> {
        match self.existing(id.local)? {
            Some(existing) if existing.finalized => Err(StorageError::Finalized(id)),
            existing => Ok(existing),
        }
    }

    fn note(&mut self, local: LocalId, merged: Merged, place: Place, row: Vec<u8>) {
        let Place { was_there, old, packed } = place;
        self.added_bytes = self.added_bytes.saturating_add(merged.added_bytes);
        self.added_blocks = self.added_blocks.saturating_add(merged.added_blocks);
        self.bcsid = self.bcsid.max(merged.block.bcsid);
        self.segments.extend(packed.map(|packed| packed.segment));
        let existing = Existing { state: merged.block, packed, finalized: false };
        let earlier = self.blocks.get(&local).map(|left| left.change);
        let mut change =
            earlier.unwrap_or(Change { was_there, left_place: old, ..Change::default() });
        change.added_bytes = change.added_bytes.saturating_add(merged.added_bytes);
        change.added_blocks = change.added_blocks.saturating_add(merged.added_blocks);
        self.blocks.insert(local, Left { existing, row, change });
    }
}

/// Old and new place of a block that is put.
#[derive(Default)]
struct Place {
    /// It had a row, of the tables or of this round.
    was_there: bool,
    /// Its place in a segment before.
    old: Option<Packed>,
    /// Its place in a segment now.
    packed: Option<Packed>,
}

/// Returns the response if no check fails.
fn check(at: Position, block: &BlockData) -> Result<(Committed, BlockId)> {
    let id = BlockId::from_datanode(&block.block_id);
    let length =
        chunks::validate_list(block).map_err(|error| StorageError::Chunks { block: id, error })?;
    let committed = Committed {
        block: BlockId { bcsid: at.index, ..id },
        length,
        replica_index: block.block_id.replica_index(),
    };
    Ok((committed, id))
}

fn merge(existing: Option<Existing>, committed: &Committed) -> Result<Merged> {
    let there: Option<BlockState> = existing.map(|existing| existing.state);
    chunks::merge(there, committed.length, committed.block.bcsid)
        .map_err(|error| StorageError::Chunks { block: committed.block, error })
}

/// Bytes too many to pack go into the block's own file; the next flush makes them durable.
fn write_file(touched: &Touched, local: LocalId, chunk: &ChunkInfo, data: Bytes) -> Result<()> {
    let container = &touched.container;
    let id: ContainerId = container.id();
    let path = container.block_path(local);
    let io = &container.disk().io;
    block_on(io.write(path, chunk.offset, data, WriteMode::Auto)).map_err(StorageError::io(id))?;
    container.needs_sync(local);
    Ok(())
}
