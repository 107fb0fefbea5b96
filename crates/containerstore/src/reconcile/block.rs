//! A block from another replica.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blockio::{WriteMode, block_on};
use bytes::Bytes;
use container::{checksum, chunks, merkle};
use metastore::{Batch, Durability};
use proto::datanode::{BlockData, ChunkInfo};
use types::{BlockId, LocalId};

use super::{Reconcile, begin};
use crate::containers::Container;
use crate::error::{Result, StorageError};
use crate::store::ContainerStore;
use crate::tables::{self, BLOCK_DATA, encode_block};

/// A block that is coming, chunk by chunk.
pub struct NewBlock {
    container: Arc<Container>,
    local: LocalId,
    row: BlockData,
    length: u64,
    path: Arc<Path>,
    /// Chunks that are here.
    came: usize,
}

impl NewBlock {
    /// Its chunks, all of which have to come, in this order.
    pub fn chunks(&self) -> &[ChunkInfo] {
        &self.row.chunks
    }

    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Adds the next chunk.
    ///
    /// # Errors
    /// When the bytes do not have its checksums, or cannot be written.
    pub async fn write(&mut self, data: Bytes) -> Result<()> {
        let id = self.container.id();
        let block = BlockId { container: id, local: self.local, bcsid: 0 };
        let chunk = self.row.chunks.get(self.came);
        let chunk = chunk.filter(|chunk| chunk.len == data.len() as u64).ok_or_else(|| {
            let (offset, len) = (0, data.len() as u64);
            StorageError::NoSuchChunk { block, offset, len }
        })?;
        checksum::verify(&chunk.checksum_data, &data)
            .map_err(|error| StorageError::Checksum { block, error })?;
        let disk = self.container.disk();
        disk.check_room(data.len() as u64)?;
        let write = disk.io().write(Arc::clone(&self.path), chunk.offset, data, WriteMode::Auto);
        write.await.map_err(StorageError::io(id))?;
        self.came = self.came.saturating_add(1);
        Ok(())
    }
}

impl Reconcile<'_> {
    /// Begins a block with another replica's row.
    ///
    /// # Errors
    /// When its row is invalid, or leftovers of an earlier attempt cannot be removed.
    pub async fn begin_block(&self, local: LocalId, row: BlockData) -> Result<NewBlock> {
        let id = self.container.id();
        let block = BlockId { container: id, local, bcsid: 0 };
        let length =
            chunks::validate_list(&row).map_err(|error| StorageError::Chunks { block, error })?;
        let path: PathBuf = self.dir.join(format!("{local}.block"));
        // Leftovers of an interrupted attempt, an open file and failed writes included.
        let left = self.container.disk().io().unlink(vec![path.clone()]);
        left.await.map_err(StorageError::io(id))?;
        let container = Arc::clone(&self.container);
        Ok(NewBlock { container, local, row, length, path: Arc::from(path), came: 0 })
    }

    /// Puts a block that has arrived whole into its place. It is durable at the end of the
    /// reconciliation.
    ///
    /// # Errors
    /// When not all of it has arrived, blocks of the container were deleted meanwhile, the replica
    /// has changed, or the disk fails.
    pub async fn put(&mut self, block: NewBlock) -> Result<()> {
        let id = self.container.id();
        if block.came != block.row.chunks.len() {
            let why = format!(
                "only {} of {} chunks of block {} arrived",
                block.came,
                block.row.chunks.len(),
                block.local
            );
            return Err(StorageError::not_reconciled(id, why));
        }
        let (store, delete_tx) = (self.store.clone(), self.delete_tx);
        let (local, length) = (block.local, block.length);
        let tree = merkle::block(local, &block.row.chunks, &[]);
        self.container.blocking(move || put(&store, delete_tx, &block)).await?;
        self.store.leave_cache(id, &[local]);
        self.damage.remove(&local);
        let blocks = &mut self.tree.block_merkle_tree;
        match blocks.binary_search_by_key(&local.to_wire(), |block| block.block_id()) {
            Ok(at) => {
                if let Some(there) = blocks.get_mut(at) {
                    *there = tree;
                }
            }
            Err(at) => blocks.insert(at, tree),
        }
        self.taken.insert(local);
        self.bytes = self.bytes.saturating_add(length);
        Ok(())
    }
}

/// Blocks.
fn put(store: &ContainerStore, delete_tx: u64, block: &NewBlock) -> Result<()> {
    let (container, local) = (&block.container, block.local);
    let (id, disk) = (container.id(), container.disk());
    let has_file = block.length > 0;
    if has_file {
        let io = disk.io();
        block_on(io.sync(Arc::clone(&block.path))).map_err(StorageError::io(id))?;
        io.forget(&block.path);
    }
    store.with_rows(id, |served| {
        let refuse = |why| Err(StorageError::not_reconciled(id, why));
        if !Arc::ptr_eq(served, container) {
            return refuse("another replica of it is served by now");
        }
        begin::check(container)?;
        let mut sums = container.sums();
        let bcsid = block.row.block_id.block_commit_sequence_id();
        if sums.delete_tx != delete_tx {
            return refuse("blocks of it were deleted meanwhile");
        }
        let before = container.block_row(local)?;
        if has_file {
            let place = container.block_path(local);
            fs::rename(&block.path, &place).map_err(|e| StorageError::disk(&place, e))?;
            // An open file is that of the old block.
            disk.io().forget(&place);
            disk.sync_names(place.parent().unwrap_or(&place))?;
        }
        let key = tables::block_key(id, local);
        let mut batch = Batch::new();
        batch.put(BLOCK_DATA, key, encode_block(&block.row, bcsid, block.length, None));
        match before {
            None => sums.blocks = sums.blocks.saturating_add(1),
            Some(row) => {
                sums.used = sums.used.saturating_sub(row.length());
                if let Some(packed) = row.packed {
                    container.unplace(&packed);
                    container.put_segment_rows([packed.segment], &mut batch);
                }
            }
        }
        sums.used = sums.used.saturating_add(block.length);
        sums.checksum = 0;
        sums.put_changed(container, &mut batch);
        disk.db.write(batch, Durability::NoWal)?;
        container.set_sums(sums);
        Ok(())
    })
}
