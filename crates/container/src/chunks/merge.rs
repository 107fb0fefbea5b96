//! What a PutBlock makes of the block that is there.

use super::ChunkListError;

/// What is known of a committed block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockState {
    /// Acknowledged length.
    pub length: u64,
    /// Block commit sequence id.
    pub bcsid: u64,
}

/// How a PutBlock changes the container's sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// The block as it is afterwards.
    pub block: BlockState,
    /// Bytes the container uses more.
    pub added_bytes: u64,
    /// Blocks the container has more: 0 or 1.
    pub added_blocks: u64,
    /// The same commit is there already; nothing changes.
    pub repeated: bool,
}

/// Puts a commit of `length` bytes at `bcsid` over what is there. `bcsid` 0 means that no log
/// orders the commits (EC, stand-alone writes): then the newest simply wins.
///
/// # Errors
/// Commits that would take back acknowledged bytes, or that are older than what is there.
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
