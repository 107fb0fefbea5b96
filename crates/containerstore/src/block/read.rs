//! Reading what is committed.

use std::sync::Arc;

use blockio::{IoError, IoErrorKind};
use bytes::Bytes;
use container::bcsid::{check_block, check_container};
use metastore::IterRange;
use proto::datanode::{BlockData, ChunkInfo};
use types::{BlockId, ContainerId, LocalId};

use crate::containers::Container;
use crate::error::{Result, StorageError};
use crate::read_timeout::ReadTimeout;
use crate::store::ContainerStore;
use crate::tables::{self, BLOCK_DATA, Packed, StoredBlock};

impl ContainerStore {
    /// A committed block.
    ///
    /// # Errors
    /// When it is not here, or this replica lags behind the reader's commit sequence id.
    pub fn get_block(&self, block: BlockId) -> Result<BlockData> {
        let (_, row) = self.committed(block)?;
        Ok(row.into_wire())
    }

    /// As [`get_block`](Self::get_block), for a caller that must not block.
    ///
    /// # Errors
    /// As [`get_block`](Self::get_block), and when the disk is late.
    pub async fn find_block(&self, block: BlockId, timeout: ReadTimeout) -> Result<BlockData> {
        let (_, row) = self.find_committed(block, timeout).await?;
        Ok(row.into_wire())
    }

    /// A committed block's length.
    ///
    /// # Errors
    /// As [`get_block`](Self::get_block).
    pub fn committed_length(&self, block: BlockId) -> Result<u64> {
        let (_, row) = self.committed(block)?;
        Ok(row.length())
    }

    /// Returns blocks of a container from `start` on, in the order of their keys: `count` at most,
    /// and none after the one whose row brings the sum of the rows to `bytes`.
    ///
    /// # Errors
    /// When there is no such container.
    pub fn list_block(
        &self,
        container: ContainerId,
        start: u64,
        count: usize,
        bytes: usize,
    ) -> Result<Vec<BlockData>> {
        let from = (start > 0).then(|| tables::block_key(container, LocalId(start)));
        self.blocks_from(container, from, count, bytes)
    }

    /// As [`list_block`](Self::list_block), of the blocks after `after`. The order of the keys is
    /// not that of the numbers, so the next number is not where a listing continues.
    ///
    /// # Errors
    /// When there is no such container.
    pub fn list_block_after(
        &self,
        container: ContainerId,
        after: Option<LocalId>,
        count: usize,
        bytes: usize,
    ) -> Result<Vec<BlockData>> {
        let behind = |local| {
            let mut key = tables::block_key(container, local);
            key.push(0);
            key
        };
        self.blocks_from(container, after.map(behind), count, bytes)
    }

    /// Blocks from the first key on that is not below `from`.
    fn blocks_from(
        &self,
        container: ContainerId,
        from: Option<Vec<u8>>,
        count: usize,
        bytes: usize,
    ) -> Result<Vec<BlockData>> {
        let container = self.container(container)?;
        let id = container.id();
        let mut blocks = Vec::new();
        let mut cursor =
            container.disk().db.iter(BLOCK_DATA, IterRange::prefix(tables::prefix(id)))?;
        match from {
            None => cursor.first(),
            Some(key) => cursor.seek(&key),
        }
        let mut taken = 0usize;
        while blocks.len() < count && taken < bytes {
            let row = cursor.row().map_err(|error| self.unread(&container, error.into()))?;
            let Some((_, value)) = row else { break };
            taken = taken.saturating_add(value.len());
            let row =
                StoredBlock::read(id, value).map_err(|error| self.unread(&container, error))?;
            blocks.push(row.into_wire());
            cursor.next();
        }
        Ok(blocks)
    }

    /// Returns the bytes of a committed block's `chunk`. A packed block's bytes are checked against
    /// its record; others are for the reader to check.
    ///
    /// # Errors
    /// When they are missing or damaged.
    pub async fn read_chunk(
        &self,
        block: BlockId,
        chunk: &ChunkInfo,
        timeout: ReadTimeout,
    ) -> Result<Bytes> {
        let (container, row) = self.find_committed(block, timeout).await?;
        let range = (chunk.offset, chunk.len);
        self.read_range(&container, &row, block, range, timeout).await
    }

    /// A block of one chunk with its bytes.
    ///
    /// # Errors
    /// As [`read_chunk`](Self::read_chunk), and for blocks of several chunks.
    pub async fn get_small_file(
        &self,
        block: BlockId,
        timeout: ReadTimeout,
    ) -> Result<(BlockData, ChunkInfo, Bytes)> {
        let (container, row) = self.find_committed(block, timeout).await?;
        let [chunk] = &row.chunks[..] else { return Err(StorageError::NotSmall(block)) };
        let chunk = chunk.clone();
        let data = {
            let range = (chunk.offset, chunk.len);
            self.read_range(&container, &row, block, range, timeout).await?
        };
        Ok((row.into_wire(), chunk, data))
    }

    /// Returns `true` if a block is here, up to the reader's commit sequence id, and so are the
    /// bytes of its log entry.
    pub fn has_block(&self, block: BlockId) -> bool {
        let Ok(container) = self.container(block.container) else { return false };
        // Whatever its container's position: blocks of a snapshot come in no order.
        let row = container.block_row(block.local).ok().flatten();
        row.is_some_and(|row| {
            check_block(block.bcsid, row.bcsid()).is_ok()
                && !row.packed.is_some_and(|packed| container.lacks(&packed))
        })
    }

    /// The block's row, if this replica may answer for it.
    pub(super) fn committed(&self, block: BlockId) -> Result<(Arc<Container>, StoredBlock)> {
        let container = self.container_for(block)?;
        let row =
            container.block_row(block.local).map_err(|error| self.unread(&container, error))?;
        checked(container, row, block)
    }

    /// As [`committed`](Self::committed); does not block.
    pub(super) async fn find_committed(
        &self,
        block: BlockId,
        timeout: ReadTimeout,
    ) -> Result<(Arc<Container>, StoredBlock)> {
        let container = self.container_for(block)?;
        let row = container.find_row(block.local, timeout).await;
        let row = row.map_err(|error| self.unread(&container, error))?;
        checked(container, row, block)
    }

    /// Returns the block's container, if this replica has reached the reader's commit sequence id.
    fn container_for(&self, block: BlockId) -> Result<Arc<Container>> {
        let container = self.container(block.container)?;
        check_container(block.bcsid, container.sums().bcsid)
            .map_err(|error| StorageError::Behind { block, error })?;
        Ok(container)
    }

    pub(crate) async fn read_range(
        &self,
        container: &Arc<Container>,
        row: &StoredBlock,
        block: BlockId,
        (offset, len): (u64, u64),
        timeout: ReadTimeout,
    ) -> Result<Bytes> {
        let missing = StorageError::NoSuchChunk { block, offset, len };
        let Some(end) = offset.checked_add(len).filter(|end| *end <= row.length()) else {
            return Err(missing);
        };
        let Ok(length) = usize::try_from(len) else { return Err(missing) };
        container.count_read(len);
        // Boxed, since the reads of nodes without a cache would be larger futures otherwise.
        if self.options().cache.is_some()
            && let Some(data) = Box::pin(self.read_cached(row, block, (offset, len))).await
        {
            return Ok(data);
        }
        if let Some(packed) = row.packed {
            let all = self.read_checked(container, block, packed, timeout).await?;
            self.cache_read(container, row, block, (0, len), &all);
            let Ok(range) = usize::try_from(offset).and_then(|a| Ok(a..usize::try_from(end)?))
            else {
                return Err(missing);
            };
            return if range.end <= all.len() { Ok(all.slice(range)) } else { Err(missing) };
        }
        let path = || container.block_path(block.local);
        let read = || container.disk().read(path(), offset, length, timeout);
        let mut outcome = read().await;
        if matches!(&outcome, Err(error) if is_incomplete(error)) && !container.is_replaying() {
            // Replay may have put the bytes back since.
            outcome = read().await;
        }
        match outcome {
            Ok(data) => {
                self.cache_read(container, row, block, (offset, len), &data);
                Ok(data)
            }
            Err(error) if is_incomplete(&error) => {
                self.judge_damage(container, block, StorageError::io(container.id())(error))
            }
            Err(error) => Err(self.unread(container, StorageError::io(container.id())(error))),
        }
    }

    /// The device returned no bytes: the whole replica is scanned.
    fn unread(&self, container: &Container, error: StorageError) -> StorageError {
        // A late disk proves nothing about the replica.
        if !error.is_late() {
            self.suspect(container.id(), &error.to_string());
        }
        error
    }

    async fn read_checked(
        &self,
        container: &Arc<Container>,
        block: BlockId,
        mut packed: Packed,
        timeout: ReadTimeout,
    ) -> Result<Bytes> {
        let mut error = match container.read_packed(block.local, packed, timeout).await {
            Ok(data) => return Ok(data),
            Err(error) if error.is_late() => return Err(error),
            Err(error) => error,
        };
        // Compaction may have moved it between the read of its row and of its bytes, and replay may
        // have restored it since.
        for _ in 0..2 {
            let now = container.block_row(block.local)?.ok_or(StorageError::NoSuchBlock(block))?;
            let Some(moved) = now.packed else { break };
            if moved == packed && is_device_error(&error) {
                return Err(self.unread(container, error));
            }
            if container.is_replaying() {
                return Err(StorageError::Recovering(block));
            }
            packed = moved;
            match container.read_packed(block.local, packed, timeout).await {
                Ok(data) => return Ok(data),
                Err(error) if error.is_late() => return Err(error),
                Err(again) => error = again,
            }
        }
        self.judge_damage(container, block, error)
    }

    /// A committed block lacks bytes, or has wrong ones, also when it is read again. Unless it was
    /// deleted just now, or replay is still restoring bytes, the replica counts as damaged.
    fn judge_damage<T>(
        &self,
        container: &Arc<Container>,
        block: BlockId,
        error: StorageError,
    ) -> Result<T> {
        if container.block_row(block.local)?.is_none() {
            return Err(StorageError::NoSuchBlock(block));
        }
        if container.is_replaying() {
            return Err(StorageError::Recovering(block));
        }
        self.distrust(container, error.to_string());
        Err(error)
    }

    /// Marks a container unhealthy without holding up the reader that found it out.
    fn distrust(&self, container: &Arc<Container>, reason: String) {
        let (store, id, container) = (self.clone(), container.id(), Arc::clone(container));
        let mark = move || {
            if !store.is_served(&container) {
                // It was removed, or moved to another disk, and another replica is served.
                return;
            }
            if let Err(error) = store.mark_replica_unhealthy(&container, &reason) {
                tracing::error!(container = %id, %error, "cannot mark container unhealthy");
                // The scan distinguishes a missing disk from a missing replica.
                store.suspect(id, &reason);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("distrust".into()).spawn(mark) {
            tracing::error!(container = %id, %error, "cannot mark container unhealthy");
        }
    }
}

/// A row that was found, if the replica may answer for its block.
fn checked(
    container: Arc<Container>,
    row: Option<StoredBlock>,
    block: BlockId,
) -> Result<(Arc<Container>, StoredBlock)> {
    let row = row.ok_or(StorageError::NoSuchBlock(block))?;
    check_block(block.bcsid, row.bcsid()).map_err(|error| StorageError::Behind { block, error })?;
    Ok((container, row))
}

/// There are fewer bytes than there must be.
fn is_incomplete(error: &IoError) -> bool {
    matches!(error.kind, IoErrorKind::NotFound | IoErrorKind::Short)
}

/// The device failed, which proves nothing about the bytes.
fn is_device_error(error: &StorageError) -> bool {
    matches!(error, StorageError::Io { error, .. }
        if !matches!(error.kind, IoErrorKind::NotFound | IoErrorKind::Short))
}
