//! Chunk lists that carry only what is new.
//!
//! A writer that syncs often does not repeat the whole list each time: it sets the metadata key
//! `incremental` and lists the chunks since the last full one. The partial chunk at the end is
//! described again with every list, longer each time, so a list replaces what is there from the
//! start of its first chunk on.

use proto::datanode::{BlockData, ChunkInfo};

/// Metadata key of a list that carries only the chunks since the last full one.
const INCREMENTAL: &str = "incremental";

/// Whether a PutBlock lists only what is new.
pub fn is_incremental(block: &BlockData) -> bool {
    block.metadata.iter().any(|entry| entry.key == INCREMENTAL)
}

/// The block with its whole list: what is there, and what an incremental list adds to it. Whether
/// the outcome is a list at all, [`validate_list`](super::validate_list) says.
pub fn extend(there: &[ChunkInfo], block: &BlockData) -> BlockData {
    let from = block.chunks.first().map_or(u64::MAX, |chunk| chunk.offset);
    let kept = there.iter().filter(|chunk| chunk.offset < from);
    BlockData {
        block_id: block.block_id,
        flags: block.flags,
        metadata: block.metadata.iter().filter(|entry| entry.key != INCREMENTAL).cloned().collect(),
        chunks: kept.chain(&block.chunks).cloned().collect(),
        // What a client may say of the list alone is not the block's size.
        size: None,
    }
}
