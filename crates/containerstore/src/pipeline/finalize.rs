//! FinalizeBlock: a block's writer was given up, and its later writes are refused.

use prost::Message;
use proto::datanode::BlockData;
use types::BlockId;

use super::Position;
use super::apply::{ApplyBatch, Change, Existing, Left};
use crate::error::{Result, StorageError};
use crate::tables::{self, BLOCK_DATA};

impl ApplyBatch<'_> {
    /// Ends the writing of a block at its present length; returns the committed block. A container
    /// that takes no writes needs no mark on its blocks.
    ///
    /// # Errors
    /// When no bytes of it were ever committed.
    pub fn finalize_block(&mut self, at: Position, id: BlockId) -> Result<BlockData> {
        self.advance(at);
        let replay = self.is_replay(at);
        let touched = self.touch(id.container)?;
        let mut row = touched.row(id.local)?.ok_or(StorageError::NoSuchBlock(id))?;
        let accepts_writes = !touched.closed && touched.container.state().applies_writes();
        // A packed block came whole, in one entry; nothing can be added to it.
        if replay || !accepts_writes || row.finalized || row.packed.is_some() {
            return Ok(row.into_wire());
        }
        touched.container.note_finalized(id.local);
        row.finalized = true;
        let encoded = row.encode_to_vec();
        // Of the row that is put, which may be deleted from the tables by now.
        let existing = Existing::of(&row);
        let of_table = Change { was_there: true, ..Change::default() };
        let change = touched.blocks.get(&id.local).map_or(of_table, |left| left.change);
        touched.blocks.insert(id.local, Left { existing, row: encoded.clone(), change });
        self.batch.put(BLOCK_DATA, tables::block_key(id.container, id.local), encoded);
        Ok(row.into_wire())
    }
}
