//! How much a message may say of a block, before anything is made of it.
//!
//! A chunk that a list names may have to be read, or fetched from another replica, so its length is
//! as bounded as that of a chunk that is written.

use proto::datanode::{BlockData, ChunkInfo};

use super::{ChunkListError, is_incremental, validate_list};
use crate::checksum::{self, ChecksumError};

/// Bytes of the longest chunk; Ozone's `OZONE_SCM_CHUNK_MAX_SIZE`.
pub const MAX_CHUNK_LEN: u64 = 32 << 20;

/// Chunks that a list names at most: a block of 256 MiB in chunks of a page.
pub const MAX_CHUNKS: usize = 65_536;

/// What a chunk or a chunk list says beyond what a block can be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// A chunk that is too long.
    #[error("chunk {name} has {len} bytes, the longest chunk has {max}", max = MAX_CHUNK_LEN)]
    LongChunk {
        /// Its name.
        name: String,
        /// Its length in bytes.
        len: u64,
    },
    /// A chunk that ends where no block reaches.
    #[error("chunk {name} starts at {offset} and has {len} bytes, a block has {limit} at most")]
    LongBlock {
        /// Its name.
        name: String,
        /// Where it starts in the block.
        offset: u64,
        /// Its length in bytes.
        len: u64,
        /// Bytes of the longest block.
        limit: u64,
    },
    /// A list that is too long.
    #[error("{0} chunks are listed, {max} at most may be", max = MAX_CHUNKS)]
    ManyChunks(usize),
    /// A list that is none.
    #[error(transparent)]
    List(#[from] ChunkListError),
    /// Checksums that the chunk's bytes cannot have, whatever they are.
    #[error("chunk {name}: {error}")]
    Checksums {
        /// Its name.
        name: String,
        /// What is wrong with them.
        error: ChecksumError,
    },
    /// A block that is said to be one chunk and is not.
    #[error("the block is not the chunk of {0} bytes that comes with it")]
    OtherThanItsChunk(u64),
}

/// Checks one chunk of a block that may have `limit` bytes.
///
/// # Errors
/// Offsets, lengths and checksums that cannot be.
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

/// Checks the list of a PutBlock for a block that may have `limit` bytes, a whole list or one of
/// what is new.
///
/// # Errors
/// Lists that are too long, not contiguous, or of chunks that cannot be.
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

/// Checks the block of a PutSmallFile: it is the one chunk that comes with it, and nothing else.
///
/// # Errors
/// Blocks that claim more, less or other bytes than the chunk has.
pub fn check_small(block: &BlockData, chunk: &ChunkInfo) -> Result<(), LimitError> {
    let other = || LimitError::OtherThanItsChunk(chunk.len);
    let [only] = &block.chunks[..] else { return Err(other()) };
    if chunk.offset != 0 || only.offset != 0 || only.len != chunk.len {
        return Err(other());
    }
    validate_list(block)?;
    Ok(())
}
