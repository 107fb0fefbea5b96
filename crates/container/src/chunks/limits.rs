//! Limits on messages about a block, checked before any work.
//!
//! A listed chunk may have to be read, or fetched from another replica, so its length has the same
//! limit as that of a written chunk.

use proto::datanode::{BlockData, ChunkInfo};

use super::{ChunkListError, is_incremental, validate_list};
use crate::checksum::{self, ChecksumError};

/// Maximum length of a chunk in bytes; Ozone's `OZONE_SCM_CHUNK_MAX_SIZE`.
pub const MAX_CHUNK_LEN: u64 = 32 << 20;

/// Maximum number of chunks in a list: a block of 256 MiB in chunks of a page.
pub const MAX_CHUNKS: usize = 65_536;

/// A chunk or a chunk list exceeds the limits of a block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// A chunk that is too long.
    #[error("chunk {name} has {len} bytes, more than the maximum of {max}", max = MAX_CHUNK_LEN)]
    LongChunk {
        /// Its name.
        name: String,
        /// Its length in bytes.
        len: u64,
    },
    /// A chunk that ends beyond the maximum block size.
    #[error(
        "chunk {name} starts at {offset} and has {len} bytes, beyond the maximum block size of {limit}"
    )]
    LongBlock {
        /// Its name.
        name: String,
        /// Its start in the block.
        offset: u64,
        /// Its length in bytes.
        len: u64,
        /// Maximum block size in bytes.
        limit: u64,
    },
    /// A list that is too long.
    #[error("{0} chunks are listed, more than the maximum of {max}", max = MAX_CHUNKS)]
    ManyChunks(usize),
    /// A malformed list.
    #[error(transparent)]
    List(#[from] ChunkListError),
    /// Checksums that do not fit the chunk's length.
    #[error("chunk {name}: {error}")]
    Checksums {
        /// Its name.
        name: String,
        /// The reason.
        error: ChecksumError,
    },
    /// A block that should be one chunk but is not.
    #[error("the block is not the accompanying chunk of {0} bytes")]
    OtherThanItsChunk(u64),
}

/// Checks one chunk of a block of at most `limit` bytes.
///
/// # Errors
/// If offset, length or checksums are invalid.
pub fn check_chunk(chunk: &ChunkInfo, limit: u64) -> Result<(), LimitError> {
    let name = || chunk.chunk_name.clone();
    let (offset, len) = (chunk.offset, chunk.len);
    if len > MAX_CHUNK_LEN {
        return Err(LimitError::LongChunk { name: name(), len });
    }
    if offset.checked_add(len).is_none_or(|end| end > limit) {
        return Err(LimitError::LongBlock { name: name(), offset, len, limit });
    }
    if len == 0 {
        return Ok(());
    }
    checksum::check_form(&chunk.checksum_data, len)
        .map_err(|error| LimitError::Checksums { name: name(), error })
}

/// Checks the list of a PutBlock for a block of at most `limit` bytes, a whole list or an
/// incremental one.
///
/// # Errors
/// If the list is too long, not contiguous, or has invalid chunks.
pub fn check_list(block: &BlockData, limit: u64) -> Result<(), LimitError> {
    if block.chunks.len() > MAX_CHUNKS {
        return Err(LimitError::ManyChunks(block.chunks.len()));
    }
    for chunk in &block.chunks {
        check_chunk(chunk, limit)?;
    }
    if !is_incremental(block) {
        validate_list(block)?;
        return Ok(());
    }
    for pair in block.chunks.windows(2) {
        let [before, chunk] = pair else { continue };
        // No overflow: both were checked.
        let expected = before.offset.saturating_add(before.len);
        if chunk.offset != expected {
            let (name, offset) = (chunk.chunk_name.clone(), chunk.offset);
            return Err(ChunkListError::Gap { name, offset, expected }.into());
        }
    }
    Ok(())
}

/// Checks the block of a PutSmallFile: exactly the one accompanying chunk.
///
/// # Errors
/// If the block has more, fewer or other bytes than the chunk.
pub fn check_small(block: &BlockData, chunk: &ChunkInfo) -> Result<(), LimitError> {
    let other = || LimitError::OtherThanItsChunk(chunk.len);
    let [only] = &block.chunks[..] else { return Err(other()) };
    if chunk.offset != 0 || only.offset != 0 || only.len != chunk.len {
        return Err(other());
    }
    validate_list(block)?;
    Ok(())
}
