//! Proof that a block was deleted, for another replica that searches for its bytes, and its use
//! there.

use metastore::{Batch, Durability};
use types::BlockId;

use crate::containers::DeletedBeforeWrite;
use crate::error::{Result, StorageError};
use crate::store::ContainerStore;
use crate::tables::{self, DELETED_EARLY};

impl ContainerStore {
    /// Returns `true` if this replica has proof that the block, committed by the log entry of its
    /// block commit sequence id, was deleted: it has passed that entry and has no such block. A
    /// damaged replica proves nothing.
    ///
    /// # Errors
    /// When there is no such container, or its disk fails.
    pub fn knows_deleted(&self, block: BlockId) -> Result<bool> {
        use container::ContainerState::{Closed, Closing, Open, QuasiClosed};
        let container = self.container(block.container)?;
        // First the sum, then the row: a round writes its rows before it counts.
        let trusted = matches!(container.state(), Open | Closing | QuasiClosed | Closed);
        let past = block.bcsid > 0 && container.sums().bcsid >= block.bcsid;
        Ok(trusted && past && container.block_row(block.local)?.is_none())
    }

    /// Records that the block is deleted everywhere else: its entries up to that of its block
    /// commit sequence id leave no data when they are applied. Durable when it returns. Blocks.
    ///
    /// # Errors
    /// When there is no such container, it takes no writes any more, or its disk fails.
    pub fn note_deleted(&self, block: BlockId) -> Result<()> {
        self.with_rows(block.container, |container| {
            // Its notes have ended, or are about to: the state changes first.
            let (id, state) = (block.container, container.state());
            if !state.applies_writes() {
                return Err(StorageError::NotWritable { id, state });
            }
            // A client may have put the block several times: the last entry is the one to note.
            if container.deleted_early(block.local).is_some_and(|e| e.covers(block.bcsid)) {
                return Ok(());
            }
            let early = DeletedBeforeWrite::Entries(block.bcsid);
            let key = tables::block_key(block.container, block.local);
            let mut batch = Batch::new();
            batch.put(DELETED_EARLY, key, early.encode());
            container.disk().db.write(batch, Durability::Sync)?;
            container.note_deleted_early([block.local], early);
            Ok(())
        })
    }
}
