//! Reading a closed container, block by block.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use container::ContainerState;
use container::checksum;
use prost::Message;
use proto::datanode::ChunkInfo;
use rustc_hash::FxHashSet;
use types::{BlockId, ContainerId, LocalId};

use super::Manifest;
use crate::containers::{Container, PAGE};
use crate::error::{Result, StorageError};
use crate::read_timeout::ReadTimeout;
use crate::store::ContainerStore;
use crate::tables::StoredBlock;

/// A part of a container: a chunk of a block, or the end of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The block.
    pub local: LocalId,
    /// True if the block is packed with other small ones. It comes in one part.
    pub packed: bool,
    /// The chunk whose bytes these are; a block may have none.
    pub chunk: Option<ChunkInfo>,
    /// With the block's last chunk: its row, as `BlockData` with the commit sequence id.
    pub row: Option<Bytes>,
    /// The bytes.
    pub data: Bytes,
}

/// A container that is read to be copied.
pub struct Export {
    store: ContainerStore,
    container: Arc<Container>,
    /// Blocks of deletion transactions: they count as deleted.
    deleted: FxHashSet<LocalId>,
    rows: VecDeque<StoredBlock>,
    /// Chunks of the first row that were read already.
    chunks_done: usize,
    /// The block to continue in, and the number of its chunks to skip.
    within: Option<(LocalId, usize)>,
    /// The last block whose row was read.
    last: Option<LocalId>,
    ended: bool,
}

impl Export {
    /// Begins after the block `after`. Blocks.
    ///
    /// # Errors
    /// When the container is not here, or not closed.
    pub fn begin(store: &ContainerStore, id: ContainerId) -> Result<Self> {
        let container = store.container(id)?;
        let state = container.state();
        if !matches!(state, ContainerState::Closed | ContainerState::QuasiClosed) {
            return Err(StorageError::NotClosed { id, state });
        }
        let deleted = container.blocks_to_delete()?;
        Ok(Self {
            store: store.clone(),
            container,
            deleted,
            rows: VecDeque::new(),
            chunks_done: 0,
            within: None,
            last: None,
            ended: false,
        })
    }

    /// Continues after a block, in the order of the rows, and in the next one, if it is `within`,
    /// after this number of chunks.
    pub fn skip_to(&mut self, after: Option<LocalId>, within: Option<(LocalId, usize)>) {
        (self.last, self.chunks_done, self.ended) = (after, 0, false);
        self.within = within;
        self.rows.clear();
    }

    /// The replica.
    pub(crate) fn container(&self) -> &Arc<Container> {
        &self.container
    }

    /// Returns the blocks that are skipped: they were deleted before it began.
    pub(crate) fn deleted(&self) -> impl Iterator<Item = LocalId> {
        self.deleted.iter().copied()
    }

    /// Returns the manifest that the copy must match.
    pub fn manifest(&self) -> Manifest {
        let info = self.container.info();
        Manifest {
            state: info.state,
            pipeline: info.pipeline,
            origin: self.container.origin().to_owned(),
            replica_index: info.replica_index,
            max_size: info.max_size,
            bcsid: info.bcsid,
            delete_tx: info.delete_tx,
            used: info.used,
            storage_type: Some(self.container.disk().storage_type()),
        }
    }

    /// The next parts, about `most` bytes of them; none at the end.
    ///
    /// # Errors
    /// When bytes are damaged, which marks the replica unhealthy, or cannot be read.
    pub async fn next(&mut self, most: usize) -> Result<Vec<Part>> {
        let (mut parts, mut bytes) = (Vec::new(), 0);
        while bytes < most && parts.len() < PAGE {
            if self.rows.is_empty() && !self.fill().await? {
                break;
            }
            let Some(row) = self.rows.front().cloned() else { break };
            if let Some((local, chunks)) = self.within.take()
                && row.block_id.local_id as u64 == local.0
                && chunks < row.chunks.len()
            {
                self.chunks_done = chunks;
            }
            let Some(part) = self.part(&row).await? else {
                // Deleted since its row was read.
                self.rows.pop_front();
                self.chunks_done = 0;
                continue;
            };
            bytes += part.data.len();
            if part.row.is_some() {
                self.rows.pop_front();
                self.chunks_done = 0;
            } else {
                self.chunks_done += 1;
            }
            parts.push(part);
        }
        Ok(parts)
    }

    /// Reads more rows; false at the end.
    async fn fill(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let (container, last) = (Arc::clone(&self.container), self.last);
        let page = tokio::task::spawn_blocking(move || container.rows_after(last)).await;
        let page = page.map_err(|e| StorageError::disk(self.container.path(), e))??;
        self.ended = page.len() < PAGE;
        self.last = page.last().map(|(local, _)| *local).or(self.last);
        let kept = page.into_iter().filter(|(local, _)| !self.deleted.contains(local));
        self.rows.extend(kept.map(|(_, row)| row));
        Ok(!self.rows.is_empty() || !self.ended)
    }

    /// Returns the next part of a block; `None` if it was deleted.
    async fn part(&self, row: &StoredBlock) -> Result<Option<Part>> {
        let local = LocalId(row.block_id.local_id as u64);
        let block = BlockId { container: self.container.id(), local, bcsid: row.bcsid() };
        if let Some(packed) = row.packed {
            // Its record carries a checksum over all of it.
            let data = match self.container.read_packed(local, packed, ReadTimeout::Unlimited).await
            {
                Ok(data) => data,
                Err(error) => match self.moved(local, &error)? {
                    None => return Ok(None),
                    Some(now) if now.packed != Some(packed) => {
                        let Some(packed) = now.packed else { return Err(error) };
                        self.container.read_packed(local, packed, ReadTimeout::Unlimited).await?
                    }
                    Some(_) => return Err(self.damaged(error)),
                },
            };
            let row = Some(row_bytes(row));
            return Ok(Some(Part { local, packed: true, chunk: None, row, data }));
        }
        let Some(chunk) = row.chunks.get(self.chunks_done) else {
            // A block without chunks.
            let (row, data) = (Some(row_bytes(row)), Bytes::new());
            return Ok(Some(Part { local, packed: false, chunk: None, row, data }));
        };
        let range = (chunk.offset, chunk.len);
        let read =
            self.store.read_range(&self.container, row, block, range, ReadTimeout::Unlimited);
        let data = match read.await {
            Ok(data) => data,
            Err(error) => {
                return match self.moved(local, &error)? {
                    None => Ok(None),
                    Some(_) => Err(error),
                };
            }
        };
        if let Err(error) = checksum::verify(&chunk.checksum_data, &data) {
            let error = StorageError::Checksum { block, error };
            return match self.moved(local, &error)? {
                None => Ok(None),
                Some(_) => Err(self.damaged(error)),
            };
        }
        let last = self.chunks_done + 1 == row.chunks.len();
        let (row, chunk) = (last.then(|| row_bytes(row)), Some(chunk.clone()));
        Ok(Some(Part { local, packed: false, chunk, row, data }))
    }

    /// Returns the state of a block that could not be read: `None` if it was deleted.
    fn moved(&self, local: LocalId, error: &StorageError) -> Result<Option<StoredBlock>> {
        let row = self.container.block_row(local)?;
        if row.is_some() {
            tracing::debug!(container = %self.container.id(), block = %local, %error, "cannot read a block");
        }
        Ok(row)
    }

    fn damaged(&self, error: StorageError) -> StorageError {
        let marked = self.store.mark_replica_unhealthy(&self.container, &error.to_string());
        if let Err(error) = marked {
            tracing::error!(container = %self.container.id(), %error, "cannot mark container unhealthy");
        }
        error
    }
}

/// Returns the row for the copy: each replica chooses the place of packed bytes itself.
fn row_bytes(row: &StoredBlock) -> Bytes {
    StoredBlock { packed: None, ..row.clone() }.encode_to_vec().into()
}
