//! Verifying what a client is about to get, for clients that cannot tell when they find damage.

use bytes::Bytes;
use container::checksum;
use proto::datanode::{ChecksumType, ChunkInfo};
use types::BlockId;

use crate::error::{Result, StorageError};
use crate::store::ContainerStore;
use crate::tables::StoredBlock;

impl ContainerStore {
    /// Verifies bytes that were read from `offset` of a block, as far as they cover whole
    /// checksums. If they do not match, the whole replica is scheduled for a scan.
    ///
    /// # Errors
    /// When they do not match their checksums.
    pub fn verify_read(&self, block: BlockId, offset: u64, data: &Bytes) -> Result<()> {
        let (container, row) = self.committed(block)?;
        // Packed blocks are verified with every read.
        if row.packed.is_some() {
            return Ok(());
        }
        let Err(error) = verify(&row, block, offset, data) else { return Ok(()) };
        match container.block_row(block.local)? {
            Some(now) if now == row => {
                self.suspect(container.id(), &error.to_string());
                Err(error)
            }
            // Extended or deleted meanwhile: the reader will notice.
            _ => Ok(()),
        }
    }

    /// As [`verify_read`](Self::verify_read), of bytes of one chunk whose row was read with them.
    pub(super) fn verify_piece(
        &self,
        block: BlockId,
        row: &StoredBlock,
        offset: u64,
        data: &Bytes,
    ) -> Result<()> {
        match verify(row, block, offset, data) {
            Ok(()) => Ok(()),
            Err(_) => self.verify_read(block, offset, data),
        }
    }
}

fn verify(row: &StoredBlock, block: BlockId, offset: u64, data: &Bytes) -> Result<()> {
    let (mut at, mut rest) = (offset, data.clone());
    while !rest.is_empty() {
        let holds = |chunk: &&ChunkInfo| {
            at.checked_sub(chunk.offset).is_some_and(|inside| inside < chunk.len)
        };
        let Some(chunk) = row.chunks.iter().find(holds) else { return Ok(()) };
        let start = at - chunk.offset;
        let len = (chunk.len - start).min(rest.len() as u64);
        let part = rest.split_to(usize::try_from(len).unwrap_or(usize::MAX).min(rest.len()));
        // The others take long: they are for the reader alone.
        let is_quick =
            matches!(chunk.checksum_data.r#type(), ChecksumType::Crc32 | ChecksumType::Crc32c);
        if is_quick && let Ok(sums) = checksum::cut(&chunk.checksum_data, chunk.len, start, len) {
            checksum::verify(&sums, &part)
                .map_err(|error| StorageError::Checksum { block, error })?;
        }
        at = at.saturating_add(len);
    }
    Ok(())
}
