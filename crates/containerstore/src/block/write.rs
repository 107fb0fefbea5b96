//! Writing bytes to the disk, before any log refers to them.

use std::future::Future;
use std::sync::Arc;

use blockio::{IoError, IoErrorKind, WriteMode};
use bytes::Bytes;
use container::{checksum, chunks};
use proto::datanode::{BlockData, ChecksumType, ChunkInfo};
use types::{BlockId, ContainerId};

use crate::containers::Container;
use crate::error::{Result, StorageError};
use crate::read_timeout::ReadTimeout;
use crate::store::ContainerStore;

impl ContainerStore {
    /// May a leader admit a write to this container? One that is not here will be made.
    ///
    /// # Errors
    /// When it is here and takes no new writes, or its disk is full.
    pub fn check_writable(&self, id: ContainerId) -> Result<()> {
        match self.container(id) {
            Ok(container) => match container.state() {
                state if state.admits_writes() => container.disk().check_room(0),
                state => Err(StorageError::NotWritable { id, state }),
            },
            Err(StorageError::ContainerNotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Writes a chunk into its block's file. The write has started when this returns, so that a
    /// later [`sync_block`](Self::sync_block) covers it; the future must be polled to its end.
    ///
    /// # Errors
    /// When the container takes no writes, or the disk is full or fails.
    pub fn write_chunk(
        &self,
        block: BlockId,
        chunk: &ChunkInfo,
        data: Bytes,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        let is_cached = self.options().cache.is_some();
        let cached = is_cached.then(|| (self.clone(), chunk.clone(), data.clone()));
        let begun = self.begin_write(block, chunk, data);
        let range = chunk.offset..chunk.offset.saturating_add(chunk.len);
        // A pipeline tracks its writes itself.
        let tracked = begun.as_ref().ok().filter(|(container, _)| container.pipeline().is_none());
        let tracked = tracked.map(|(container, _)| container.writes().begin(block.local, range));
        async move {
            let (container, write) = begun?;
            write.await.map_err(StorageError::io(container.id()))?;
            if let Some(tracked) = tracked {
                tracked.done();
            }
            if let Some((store, chunk, data)) = cached {
                store.cache_written(block, &chunk, &data);
            }
            Ok(())
        }
    }

    fn begin_write(
        &self,
        block: BlockId,
        chunk: &ChunkInfo,
        data: Bytes,
    ) -> Result<(Arc<Container>, impl Future<Output = Result<(), IoError>> + Send + use<>)> {
        let container = self.container(block.container)?;
        let (id, state) = (container.id(), container.state());
        if !state.applies_writes() {
            return Err(StorageError::NotWritable { id, state });
        }
        if container.was_finalized(block.local) {
            return Err(StorageError::Finalized(block));
        }
        chunks::validate_write(chunk, data.len())
            .map_err(|error| StorageError::Chunks { block, error })?;
        if self.options().verify_writes {
            checksum::verify(&chunk.checksum_data, &data)
                .map_err(|error| StorageError::Checksum { block, error })?;
        }
        container.disk().check_room(chunk.len)?;
        container.count_write(chunk.len);
        let path = container.block_path(block.local);
        let write = container.disk().io.write(path, chunk.offset, data, WriteMode::Auto);
        Ok((container, write))
    }

    /// Makes all writes to a block's file durable.
    ///
    /// # Errors
    /// When the container is not here, the block has no file, or the disk fails.
    pub fn sync_block(&self, block: BlockId) -> impl Future<Output = Result<()>> + Send + use<> {
        let container = self.container(block.container);
        async move {
            let container = container?;
            let synced = container.disk().io.sync(container.block_path(block.local)).await;
            synced.map_err(StorageError::io(container.id()))
        }
    }

    /// As [`sync_block`](Self::sync_block), of a block with these chunks: one without bytes needs
    /// no file.
    ///
    /// # Errors
    /// As [`sync_block`](Self::sync_block).
    pub async fn sync_chunks(&self, block: BlockId, data: &BlockData) -> Result<()> {
        if data.chunks.iter().all(|chunk| chunk.len == 0) {
            return Ok(());
        }
        self.sync_block(block).await
    }

    /// A chunk's bytes, committed or not: for a replica that lacks them.
    ///
    /// # Errors
    /// When they are not here.
    pub async fn read_payload(&self, block: BlockId, chunk: &ChunkInfo) -> Result<Bytes> {
        let container = self.container(block.container)?;
        let (offset, len) = (chunk.offset, chunk.len);
        let missing = || StorageError::NoSuchChunk { block, offset, len };
        if len > container::chunks::MAX_CHUNK_LEN {
            return Err(missing());
        }
        if let Some(packed) = container.block_row(block.local)?.and_then(|row| row.packed) {
            let all = container.read_packed(block.local, packed, ReadTimeout::Unlimited).await?;
            let end = offset.checked_add(len).filter(|end| *end <= all.len() as u64);
            return end.map(|end| all.slice(offset as usize..end as usize)).ok_or_else(missing);
        }
        let len = usize::try_from(len).map_err(|_| missing())?;
        let path = container.block_path(block.local);
        let read = container.disk().io.read(path, offset, len).await;
        read.map_err(|error| match error.kind {
            IoErrorKind::NotFound | IoErrorKind::Short => missing(),
            _ => StorageError::Io { container: container.id(), error },
        })
    }

    /// Is the chunk in the block's file as it should be? Without checksums to go by, a chunk counts
    /// as there when none of it is a hole.
    ///
    /// # Errors
    /// When the disk fails; bytes that are missing or wrong are no error.
    pub async fn has_payload(&self, block: BlockId, chunk: &ChunkInfo) -> Result<bool> {
        let bytes = match self.read_payload(block, chunk).await {
            Ok(bytes) => bytes,
            Err(StorageError::NoSuchChunk { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        if chunk.checksum_data.r#type != ChecksumType::None as i32 {
            return Ok(checksum::verify(&chunk.checksum_data, &bytes).is_ok());
        }
        let container = self.container(block.container)?;
        if container.block_row(block.local)?.is_some_and(|row| row.packed.is_some()) {
            return Ok(true);
        }
        let path = container.block_path(block.local);
        let file = std::fs::File::open(&path).map_err(|e| StorageError::disk(&path, e))?;
        let hole = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(chunk.offset));
        Ok(hole.is_ok_and(|hole| hole >= chunk.offset + chunk.len))
    }
}
