//! Incremental chunk lists.
//!
//! A writer that syncs often does not repeat the whole list each time: it sets the metadata key
//! `incremental` and lists the chunks since the last full one. The partial chunk at the end is
//! included in every list, longer each time, so a list replaces the existing one from the start of
//! its first chunk on.

use proto::datanode::{BlockData, ChunkInfo};

/// Metadata key of a list with only the chunks since the last full one.
const INCREMENTAL: &str = "incremental";

/// Returns `true` if a PutBlock has an incremental list.
pub fn is_incremental(block: &BlockData) -> bool {
    block.metadata.iter().any(|entry| entry.key == INCREMENTAL)
}

/// Returns the block with its whole list: the existing one, extended by an incremental list.
/// [`validate_list`](super::validate_list) validates the result.
pub fn extend(there: &[ChunkInfo], block: &BlockData) -> BlockData {
    let from = block.chunks.first().map_or(u64::MAX, |chunk| chunk.offset);
    let kept = there.iter().filter(|chunk| chunk.offset < from);
    BlockData {
        block_id: block.block_id,
        flags: block.flags,
        metadata: block.metadata.iter().filter(|entry| entry.key != INCREMENTAL).cloned().collect(),
        chunks: kept.chain(&block.chunks).cloned().collect(),
        // A size sent by the client with an incremental list is not the block's size.
        size: None,
    }
}
