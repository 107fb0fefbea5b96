//! PutBlock and FinalizeBlock without a log: EC replicas and stand-alone writes.

use container::chunks;
use metastore::{Batch, Durability};
use prost::Message;
use proto::datanode::BlockData;
use types::BlockId;

use super::Committed;
use crate::containers::Container;
use crate::error::{Result, StorageError};
use crate::store::ContainerStore;
use crate::tables::{self, BLOCK_DATA};

impl ContainerStore {
    /// Commits a block whose chunks are written; block and record are durable when the future
    /// ends.
    ///
    /// # Errors
    /// When the list is wrong, bytes are missing, or the disk fails.
    pub async fn put_block_direct(&self, block: &BlockData) -> Result<Committed> {
        let id = BlockId::from_datanode(&block.block_id);
        let container = self.container(id.container)?;
        // Errors of a whole list are found before the disk is read.
        if !chunks::is_incremental(block) {
            validate(id, block)?;
        }
        container.writes().earlier(id.local).wait().await;
        self.check_written(&container, id, block).await?;
        self.sync_chunks(id, block).await?;
        let (store, block) = (self.clone(), block.clone());
        let put = move || store.put_row_direct(&block, id);
        let joined = tokio::task::spawn_blocking(put).await;
        joined.map_err(|e| StorageError::disk(container.path(), e))?
    }

    /// Checks that the bytes of every chunk are here: written since the container was made or
    /// opened, or on the disk with their checksums.
    async fn check_written(
        &self,
        container: &Container,
        id: BlockId,
        block: &BlockData,
    ) -> Result<()> {
        for chunk in &block.chunks {
            let (offset, len) = (chunk.offset, chunk.len);
            let range = offset..offset.saturating_add(len);
            if container.writes().has(id.local, &range) {
                continue;
            }
            if !self.has_payload(id, chunk).await? {
                return Err(StorageError::NoSuchChunk { block: id, offset, len });
            }
            container.writes().found(id.local, range);
        }
        Ok(())
    }

    fn put_row_direct(&self, block: &BlockData, id: BlockId) -> Result<Committed> {
        let container = self.container(id.container)?;
        let _commit = container.commit.lock();
        let state = container.state();
        if !state.applies_writes() {
            return Err(StorageError::NotWritable { id: id.container, state });
        }
        let row = container.block_row(id.local)?;
        if row.as_ref().is_some_and(|row| row.packed.is_some()) {
            return Err(StorageError::Packed(id));
        }
        if row.as_ref().is_some_and(|row| row.finalized) {
            return Err(StorageError::Finalized(id));
        }
        let whole = chunks::is_incremental(block)
            .then(|| chunks::extend(row.as_ref().map_or(&[][..], |row| &row.chunks), block));
        let block = whole.as_ref().unwrap_or(block);
        let length = validate(id, block)?;
        let there = row.map(|row| chunks::BlockState { length: row.length(), bcsid: row.bcsid() });
        // No log gave it a number; what a log gave earlier stays.
        let bcsid = there.map_or(0, |there| there.bcsid);
        let merged = chunks::merge(there, length, 0)
            .map_err(|error| StorageError::Chunks { block: id, error })?;
        let found = container.file_length(id.local)?;
        if found < length {
            return Err(StorageError::FileInconsistent { block: id, expected: length, found });
        }
        let mut sums = container.sums();
        sums.used += merged.added_bytes;
        sums.blocks += merged.added_blocks;
        let mut batch = Batch::new();
        let value = tables::encode_block(block, bcsid, length, None);
        batch.put(BLOCK_DATA, tables::block_key(id.container, id.local), value);
        sums.put_changed(&container, &mut batch);
        container.disk().db.write(batch, Durability::Sync)?;
        container.set_sums(sums);
        self.check_fullness(&container);
        let replica_index = block.block_id.replica_index();
        Ok(Committed { block: BlockId { bcsid, ..id }, length, replica_index })
    }

    /// Ends the writing of a block at its present length; returns the committed block. Durable when
    /// it returns. Blocks.
    ///
    /// # Errors
    /// When no bytes of it were ever committed, or the disk fails.
    pub fn finalize_direct(&self, id: BlockId) -> Result<BlockData> {
        let container = self.container(id.container)?;
        let _commit = container.commit.lock();
        let mut row = container.block_row(id.local)?.ok_or(StorageError::NoSuchBlock(id))?;
        if container.state().applies_writes() && !row.finalized && row.packed.is_none() {
            row.finalized = true;
            container.note_finalized(id.local);
            let mut batch = Batch::new();
            let key = tables::block_key(id.container, id.local);
            batch.put(BLOCK_DATA, key, row.encode_to_vec());
            container.disk().db.write(batch, Durability::Sync)?;
        }
        Ok(row.into_wire())
    }
}

fn validate(id: BlockId, block: &BlockData) -> Result<u64> {
    chunks::validate_list(block).map_err(|error| StorageError::Chunks { block: id, error })
}
