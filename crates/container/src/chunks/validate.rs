//! Is a chunk, or a list of chunks, well-formed?

use proto::datanode::{BlockData, ChunkInfo};

/// What is wrong with a chunk or a chunk list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChunkListError {
    /// A chunk without bytes that is not the tolerated trailing one.
    #[error("chunk {name} is empty")]
    Empty {
        /// Its name.
        name: String,
    },
    /// A chunk that does not start where the one before ends.
    #[error("chunk {name} starts at {offset}, the chunk before ends at {expected}")]
    Gap {
        /// Its name.
        name: String,
        /// Where it starts.
        offset: u64,
        /// Where it should start.
        expected: u64,
    },
    /// Offset and length beyond what a file can have.
    #[error("chunk {name} ends beyond the largest possible offset")]
    TooFar {
        /// Its name.
        name: String,
    },
    /// The message's data is not as long as the chunk says.
    #[error("chunk {name} has length {len} but comes with {data} bytes")]
    WrongLength {
        /// Its name.
        name: String,
        /// Length it declares.
        len: u64,
        /// Bytes that came.
        data: u64,
    },
    /// `BlockData.size` is there and differs from the chunks.
    #[error("block has size {size} but its chunks add up to {sum}")]
    WrongSize {
        /// What the block says.
        size: i64,
        /// What its chunks say.
        sum: u64,
    },
    /// A newer list that is shorter than what was acknowledged.
    #[error("block has {committed} committed bytes, the new chunk list has only {new}")]
    Shrinks {
        /// Acknowledged length.
        committed: u64,
        /// Length of the new list.
        new: u64,
    },
    /// An older commit than the one that is there.
    #[error("block is committed at {committed}, a commit at {new} comes too late")]
    Stale {
        /// Commit that is there.
        committed: u64,
        /// Commit that came.
        new: u64,
    },
}

/// Checks the list of a PutBlock and returns the block's length.
///
/// # Errors
/// Lists that are not contiguous from 0, or whose size is wrong.
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
/// Lengths that differ, no bytes, offsets beyond a file's end.
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

/// The stored chunk in which `offset..offset + len` lies, if one chunk holds all of it.
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
