//! Validation of chunks and chunk lists.

use proto::datanode::{BlockData, ChunkInfo};

/// Errors of a chunk or a chunk list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChunkListError {
    /// A chunk without bytes that is not the permitted trailing one.
    #[error("chunk {name} is empty")]
    Empty {
        /// Its name.
        name: String,
    },
    /// A chunk that does not start at the end of the preceding one.
    #[error("chunk {name} starts at {offset}, the preceding chunk ends at {expected}")]
    Gap {
        /// Its name.
        name: String,
        /// Its actual start.
        offset: u64,
        /// Its expected start.
        expected: u64,
    },
    /// Offset and length exceed the maximum file size.
    #[error("chunk {name} ends beyond the maximum offset")]
    TooFar {
        /// Its name.
        name: String,
    },
    /// The message's data differs in length from the chunk.
    #[error("chunk {name} has length {len} but {data} bytes of data")]
    WrongLength {
        /// Its name.
        name: String,
        /// Declared length.
        len: u64,
        /// Actual length of the data.
        data: u64,
    },
    /// `BlockData.size` is set and differs from the chunks.
    #[error("block has size {size} but its chunks add up to {sum}")]
    WrongSize {
        /// Declared size of the block.
        size: i64,
        /// Sum of its chunks.
        sum: u64,
    },
    /// A newer list that is shorter than the acknowledged length.
    #[error("block has {committed} committed bytes, the new chunk list has only {new}")]
    Shrinks {
        /// Acknowledged length.
        committed: u64,
        /// Length of the new list.
        new: u64,
    },
    /// A commit older than the existing one.
    #[error("block is committed at {committed}, the commit at {new} is stale")]
    Stale {
        /// The existing commit.
        committed: u64,
        /// The received commit.
        new: u64,
    },
}

/// Checks the list of a PutBlock and returns the block's length.
///
/// # Errors
/// If the list is not contiguous from 0, or its size is wrong.
pub fn validate_list(block: &BlockData) -> Result<u64, ChunkListError> {
    let mut end = 0u64;
    for (i, chunk) in block.chunks.iter().enumerate() {
        if chunk.offset != end {
            return Err(ChunkListError::Gap {
                name: chunk.chunk_name.clone(),
                offset: chunk.offset,
                expected: end,
            });
        }
        // Writers may close a block with one empty chunk at its end.
        if chunk.len == 0 && i.saturating_add(1) != block.chunks.len() {
            return Err(ChunkListError::Empty { name: chunk.chunk_name.clone() });
        }
        end = chunk_end(chunk)?;
    }
    match block.size {
        Some(size) if size > 0 && size.cast_unsigned() != end => {
            Err(ChunkListError::WrongSize { size, sum: end })
        }
        _ => Ok(end),
    }
}

/// Checks a chunk that is to be written with `data` bytes.
///
/// # Errors
/// If the lengths differ, there is no data, or the offset exceeds the maximum file size.
pub fn validate_write(chunk: &ChunkInfo, data: usize) -> Result<(), ChunkListError> {
    let name = || chunk.chunk_name.clone();
    if chunk.len != data as u64 {
        return Err(ChunkListError::WrongLength {
            name: name(),
            len: chunk.len,
            data: data as u64,
        });
    }
    if chunk.len == 0 {
        return Err(ChunkListError::Empty { name: name() });
    }
    chunk_end(chunk).map(|_| ())
}

/// The stored chunk that contains all of `offset..offset + len`, if any.
pub fn locate(chunks: &[ChunkInfo], offset: u64, len: u64) -> Option<&ChunkInfo> {
    let after = chunks.partition_point(|chunk| chunk.offset <= offset);
    let chunk = chunks.get(after.checked_sub(1)?)?;
    (offset.checked_add(len)? <= chunk.offset.checked_add(chunk.len)?).then_some(chunk)
}

fn chunk_end(chunk: &ChunkInfo) -> Result<u64, ChunkListError> {
    chunk
        .offset
        .checked_add(chunk.len)
        .filter(|end| i64::try_from(*end).is_ok())
        .ok_or_else(|| ChunkListError::TooFar { name: chunk.chunk_name.clone() })
}
