//! The tree of one replica.

use crc_fast::{CrcAlgorithm, Digest};
use proto::datanode::{
    BlockMerkleTree, ChunkInfo, ChunkMerkleTree, ContainerChecksumInfo, ContainerMerkleTree,
};
use types::{ContainerId, LocalId};

/// The checksum of a container without blocks. Each block adds its [`block_sum`], so that a block
/// can be removed without reading the others. 0 is an unknown checksum.
pub const EMPTY: u64 = 1;

/// The tree of a container, built block by block, in any order.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    blocks: Vec<BlockMerkleTree>,
}

impl Tree {
    /// Adds a block.
    pub fn add(&mut self, block: BlockMerkleTree) {
        self.blocks.push(block);
    }

    /// Records a deleted block: it no longer counts, and must not be restored.
    pub fn add_deleted(&mut self, local: LocalId) {
        self.blocks.push(BlockMerkleTree {
            block_id: Some(local.to_wire()),
            data_checksum: Some(0),
            chunk_merkle_tree: Vec::new(),
            deleted: Some(true),
        });
    }

    /// The tree, its blocks in the order of their ids.
    pub fn finish(mut self) -> ContainerMerkleTree {
        self.blocks.sort_by_key(BlockMerkleTree::block_id);
        let present = self.blocks.iter().filter(|block| !block.deleted());
        let sum = present.map(block_sum).fold(EMPTY, u64::wrapping_add);
        ContainerMerkleTree {
            data_checksum: Some(sum.cast_signed()),
            block_merkle_tree: self.blocks,
        }
    }

    /// As [`finish`](Self::finish), in the form that DataNodes exchange.
    pub fn into_info(self, container: ContainerId) -> ContainerChecksumInfo {
        ContainerChecksumInfo {
            container_id: Some(container.to_wire()),
            container_merkle_tree: Some(self.finish()),
        }
    }
}

/// The tree of a block. `damaged` are the offsets of chunks whose data differs from the written
/// data.
pub fn block(local: LocalId, chunks: &[ChunkInfo], damaged: &[u64]) -> BlockMerkleTree {
    let chunks: Vec<_> = chunks.iter().map(|c| chunk(c, !damaged.contains(&c.offset))).collect();
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(&local.to_wire().to_be_bytes());
    for chunk in &chunks {
        digest.update(&chunk.offset().to_be_bytes());
        digest.update(&chunk.length().to_be_bytes());
        digest.update(&chunk.data_checksum().to_be_bytes());
        digest.update(&[u8::from(chunk.checksum_matches())]);
    }
    BlockMerkleTree {
        block_id: Some(local.to_wire()),
        data_checksum: Some(digest.finalize().cast_signed()),
        chunk_merkle_tree: chunks,
        deleted: Some(false),
    }
}

/// The contribution of a block to its container's checksum.
pub fn block_sum(block: &BlockMerkleTree) -> u64 {
    // SplitMix64 (Steele, Lea, Flood 2014): spreads the few bits of a CRC over all of the sum.
    let mut z =
        block.data_checksum().cast_unsigned() ^ block.block_id().cast_unsigned().rotate_left(32);
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The node of a chunk: the checksum of the checksums stored by its writer. A chunk without
/// checksums is identified by its length alone.
fn chunk(info: &ChunkInfo, matches: bool) -> ChunkMerkleTree {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(&info.checksum_data.r#type.to_be_bytes());
    for checksum in &info.checksum_data.checksums {
        digest.update(checksum);
    }
    ChunkMerkleTree {
        offset: i64::try_from(info.offset).ok(),
        length: i64::try_from(info.len).ok(),
        data_checksum: Some(digest.finalize().cast_signed()),
        checksum_matches: Some(matches),
    }
}

#[cfg(test)]
mod tests {
    use proto::datanode::ChecksumType;

    use super::*;
    use crate::checksum::compute;

    fn chunks(texts: &[&str]) -> Vec<ChunkInfo> {
        let mut offset = 0;
        let one = |text: &&str| {
            let len = text.len() as u64;
            let checksum_data = compute(ChecksumType::Crc32c, 4, text.as_bytes());
            let chunk = ChunkInfo { offset, len, checksum_data, ..ChunkInfo::default() };
            offset += len;
            chunk
        };
        texts.iter().map(one).collect()
    }

    fn checksum(blocks: &[BlockMerkleTree]) -> i64 {
        let mut tree = Tree::default();
        blocks.iter().for_each(|block| tree.add(block.clone()));
        tree.finish().data_checksum()
    }

    #[test]
    fn a_checksum_is_of_what_there_is_in_whatever_order() {
        let one = block(LocalId(1), &chunks(&["abcdef", "ghi"]), &[]);
        let two = block(LocalId(20), &chunks(&["xyz"]), &[]);
        let all = checksum(&[one.clone(), two.clone()]);
        assert_eq!(checksum(&[two.clone(), one.clone()]), all);
        let without = all.cast_unsigned().wrapping_sub(block_sum(&two)).cast_signed();
        assert_eq!(checksum(std::slice::from_ref(&one)), without);
        assert_ne!(checksum(&[]), 0);
        let others = [
            block(LocalId(2), &chunks(&["abcdef", "ghi"]), &[]),
            block(LocalId(1), &chunks(&["abcdef"]), &[]),
            block(LocalId(1), &chunks(&["abcdef", "ghj"]), &[]),
            block(LocalId(1), &chunks(&["abcdefg", "hi"]), &[]),
            block(LocalId(1), &chunks(&["abcdef", "ghi"]), &[6]),
        ];
        for other in others {
            assert_ne!(checksum(&[other.clone(), two.clone()]), all, "{other:?}");
        }
    }

    #[test]
    fn blocks_are_in_order_and_deleted_ones_count_for_nothing() {
        let mut tree = Tree::default();
        tree.add(block(LocalId(100), &chunks(&["abc"]), &[]));
        tree.add(block(LocalId(20), &chunks(&["abc"]), &[]));
        let sum = tree.clone().finish().data_checksum();
        tree.add_deleted(LocalId(3));
        let info = tree.into_info(ContainerId(7));
        let tree = info.container_merkle_tree.unwrap();
        assert_eq!((info.container_id, tree.data_checksum()), (Some(7), sum));
        let ids: Vec<_> =
            tree.block_merkle_tree.iter().map(|b| (b.block_id(), b.deleted())).collect();
        assert_eq!(ids, [(3, true), (20, false), (100, false)]);
    }
}
