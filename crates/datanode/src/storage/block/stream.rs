//! A range of a block in pieces that carry their own checksums: for streaming reads.

use bytes::Bytes;
use container::checksum;
use proto::datanode::{ChecksumData, ChunkInfo};
use types::BlockId;

use crate::storage::error::{Result, StorageError};
use crate::storage::store::ContainerStore;

/// Part of a block: starts and ends where its checksums do.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// Where it starts in the block.
    pub offset: u64,
    /// Its bytes.
    pub data: Bytes,
    /// Checksums of exactly these bytes.
    pub checksum: ChecksumData,
}

impl ContainerStore {
    /// The bytes `offset..offset + length` of a block, widened to checksum boundaries and cut at
    /// the end of the block; one piece per chunk that holds some of them.
    ///
    /// # Errors
    /// As [`read_chunk`](Self::read_chunk), and when the range starts beyond the block.
    pub async fn read_block(&self, block: BlockId, offset: u64, length: u64) -> Result<Vec<Piece>> {
        let (container, row) = self.committed(block)?;
        if offset > row.length() {
            return Err(StorageError::NoSuchChunk { block, offset, len: length });
        }
        let end = offset.saturating_add(length).min(row.length());
        let mut pieces = Vec::new();
        for chunk in row.chunks.iter().filter(|chunk| chunk.len > 0) {
            let Some((start, len)) = overlap(chunk, offset, end) else { continue };
            let at = chunk.offset + start;
            let data = self.read_range(&container, &row, block, at, len).await?;
            let checksum = checksum::cut(&chunk.checksum_data, chunk.len, start, len)
                .map_err(|error| StorageError::Checksum { block, error })?;
            pieces.push(Piece { offset: at, data, checksum });
        }
        Ok(pieces)
    }
}

/// The part of a chunk that a range of its block needs, as start and length in the chunk.
fn overlap(chunk: &ChunkInfo, from: u64, to: u64) -> Option<(u64, u64)> {
    let chunk_end = chunk.offset.checked_add(chunk.len)?;
    let (start, end) = (from.max(chunk.offset), to.min(chunk_end));
    if start >= end {
        return None;
    }
    let slice = u64::from(chunk.checksum_data.bytes_per_checksum).max(1);
    let start = (start - chunk.offset) / slice * slice;
    let end = (end - chunk.offset).div_ceil(slice).saturating_mul(slice).min(chunk.len);
    Some((start, end - start))
}
