//! Merging a PutBlock into the existing block.

use super::ChunkListError;

/// State of a committed block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockState {
    /// Acknowledged length.
    pub length: u64,
    /// Block commit sequence id.
    pub bcsid: u64,
}

/// Effect of a PutBlock on the container's totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// The resulting block.
    pub block: BlockState,
    /// Additional bytes of the container.
    pub added_bytes: u64,
    /// Additional blocks of the container: 0 or 1.
    pub added_blocks: u64,
    /// The same commit exists already; nothing changes.
    pub repeated: bool,
}

/// Merges a commit of `length` bytes at `bcsid` into the existing block. `bcsid` 0 means that no
/// log orders the commits (EC, stand-alone writes): then the newest replaces the older one.
///
/// # Errors
/// If the commit would remove acknowledged bytes, or is older than the existing one.
pub fn merge(there: Option<BlockState>, length: u64, bcsid: u64) -> Result<Merged, ChunkListError> {
    let block = BlockState { length, bcsid };
    let Some(old) = there else {
        return Ok(Merged { block, added_bytes: length, added_blocks: 1, repeated: false });
    };
    if bcsid != 0 && bcsid < old.bcsid {
        return Err(ChunkListError::Stale { committed: old.bcsid, new: bcsid });
    }
    let shrinks = ChunkListError::Shrinks { committed: old.length, new: length };
    let added_bytes = length.checked_sub(old.length).ok_or(shrinks)?;
    let repeated = bcsid != 0 && bcsid == old.bcsid;
    Ok(Merged { block, added_bytes, added_blocks: 0, repeated })
}
