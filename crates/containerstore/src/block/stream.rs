//! A range of a block in pieces with their own checksums: for streaming reads.

use bytes::Bytes;
use container::checksum;
use proto::datanode::{ChecksumData, ChunkInfo};
use types::BlockId;

use crate::error::{Result, StorageError};
use crate::read_timeout::ReadTimeout;
use crate::store::ContainerStore;

/// Part of a block: starts and ends where its checksums do.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// Offset of the bytes in the block.
    pub offset: u64,
    /// Its bytes.
    pub data: Bytes,
    /// Checksums of exactly these bytes.
    pub checksum: ChecksumData,
}

impl ContainerStore {
    /// Returns the piece of a block that contains the byte at `offset`: of one chunk, widened to
    /// checksum boundaries, of at most `most` bytes (but of one checksum at least) and ending with
    /// the checksum before `end`. `None` at the end of the block.
    ///
    /// # Errors
    /// As [`read_chunk`](Self::read_chunk), and when the block ends before `offset`.
    pub async fn read_piece(
        &self,
        block: BlockId,
        offset: u64,
        end: u64,
        most: u64,
        timeout: ReadTimeout,
    ) -> Result<Option<Piece>> {
        let (container, row) = self.find_committed(block, timeout).await?;
        if offset > row.length() {
            let len = end.saturating_sub(offset);
            return Err(StorageError::NoSuchChunk { block, offset, len });
        }
        let here = |chunk: &&ChunkInfo| holds(chunk, offset);
        let Some(chunk) = row.chunks.iter().find(here).filter(|_| offset < end) else {
            return Ok(None);
        };
        let (start, len) = range(chunk, offset, end, most);
        let at = chunk.offset + start;
        let data = self.read_range(&container, &row, block, (at, len), timeout).await?;
        self.verify_piece(block, &row, at, &data)?;
        let checksum = checksum::cut(&chunk.checksum_data, chunk.len, start, len)
            .map_err(|error| StorageError::Checksum { block, error })?;
        Ok(Some(Piece { offset: at, data, checksum }))
    }
}

fn holds(chunk: &ChunkInfo, offset: u64) -> bool {
    offset.checked_sub(chunk.offset).is_some_and(|inside| inside < chunk.len)
}

/// Start and length, in a chunk that contains `from`, of the bytes returned for `from..to`.
fn range(chunk: &ChunkInfo, from: u64, to: u64, most: u64) -> (u64, u64) {
    let slice = u64::from(chunk.checksum_data.bytes_per_checksum).max(1);
    let start = (from - chunk.offset) / slice * slice;
    let end = to.saturating_sub(chunk.offset).div_ceil(slice).saturating_mul(slice).min(chunk.len);
    let most = (most / slice).max(1).saturating_mul(slice);
    (start, (end - start).min(most))
}
