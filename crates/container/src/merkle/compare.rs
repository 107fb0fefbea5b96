//! Differences of a replica from another one.

use std::collections::BTreeMap;

use proto::datanode::{BlockMerkleTree, ChunkMerkleTree, ContainerMerkleTree};
use types::LocalId;

/// Kinds of differences of a block on another replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    /// It is missing here.
    Missing,
    /// It is damaged or shorter here.
    Incomplete,
    /// Both match their rows, but the rows differ: no reader could tell which one is right.
    Conflicting,
}

/// A block that is more complete on another replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockDifference {
    /// The block.
    pub local: LocalId,
    /// The kind of difference.
    pub kind: DifferenceKind,
}

/// The blocks that are more complete on `peer` than in `own`, by id. Blocks that the peer lacks,
/// has damaged or has deleted are omitted, and so are those deleted here.
pub fn compare(own: &ContainerMerkleTree, peer: &ContainerMerkleTree) -> Vec<BlockDifference> {
    let (own, peer) = (by_id(own), by_id(peer));
    let present = peer.into_iter().filter(|(_, block)| !block.deleted());
    let found = present.filter_map(|(id, theirs)| {
        let local = LocalId(u64::try_from(id).ok()?);
        let kind = match own.get(&id) {
            None => whole(theirs).then_some(DifferenceKind::Missing),
            Some(ours) if ours.deleted() => None,
            Some(ours) => of_block(&ours.chunk_merkle_tree, &theirs.chunk_merkle_tree),
        };
        Some(BlockDifference { local, kind: kind? })
    });
    found.collect()
}

/// A received tree may contain a block twice: the last one counts.
fn by_id(tree: &ContainerMerkleTree) -> BTreeMap<i64, &BlockMerkleTree> {
    tree.block_merkle_tree.iter().map(|block| (block.block_id(), block)).collect()
}

fn whole(block: &BlockMerkleTree) -> bool {
    block.chunk_merkle_tree.iter().all(ChunkMerkleTree::checksum_matches)
}

fn of_block(ours: &[ChunkMerkleTree], theirs: &[ChunkMerkleTree]) -> Option<DifferenceKind> {
    let is_same = |(a, b): &(&ChunkMerkleTree, &ChunkMerkleTree)| {
        (a.offset, a.length, a.data_checksum) == (b.offset, b.length, b.data_checksum)
    };
    let same = ours.iter().zip(theirs).take_while(is_same).count();
    let theirs_is_whole = theirs.iter().all(ChunkMerkleTree::checksum_matches);
    let (mine, more) = (ours.get(same..)?, theirs.get(same..)?);
    let is_more = match (mine, more) {
        ([], []) => !ours.iter().all(ChunkMerkleTree::checksum_matches),
        ([], _) => true,
        // The other one is shorter.
        (_, []) => return None,
        // The last chunk was extended: the row has all of it, with another checksum.
        ([last], [longer, ..]) if last.offset == longer.offset => {
            match last.length().cmp(&longer.length()) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Greater if more.len() == 1 => return None,
                _ => return Some(DifferenceKind::Conflicting),
            }
        }
        (_, [last])
            if mine
                .first()
                .is_some_and(|m| m.offset == last.offset && m.length() > last.length()) =>
        {
            return None;
        }
        _ => return Some(DifferenceKind::Conflicting),
    };
    (is_more && theirs_is_whole).then_some(DifferenceKind::Incomplete)
}

#[cfg(test)]
mod tests {
    use proto::datanode::{ChecksumType, ChunkInfo};

    use super::DifferenceKind::*;
    use super::*;
    use crate::checksum::compute;
    use crate::merkle::{Tree, block};

    /// A block of these chunks, of which `damaged` are damaged.
    fn of(local: u64, texts: &[&str], damaged: &[u64]) -> BlockMerkleTree {
        let mut offset = 0;
        let one = |text: &&str| {
            let len = text.len() as u64;
            let checksum_data = compute(ChecksumType::Crc32c, 4, text.as_bytes());
            let chunk = ChunkInfo { offset, len, checksum_data, ..ChunkInfo::default() };
            offset += len;
            chunk
        };
        block(LocalId(local), &texts.iter().map(one).collect::<Vec<_>>(), damaged)
    }

    fn tree(blocks: &[BlockMerkleTree], deleted: &[u64]) -> ContainerMerkleTree {
        let mut tree = Tree::default();
        blocks.iter().for_each(|block| tree.add(block.clone()));
        deleted.iter().for_each(|local| tree.add_deleted(LocalId(*local)));
        tree.finish()
    }

    fn kinds(own: &ContainerMerkleTree, peer: &ContainerMerkleTree) -> Vec<(u64, DifferenceKind)> {
        compare(own, peer).into_iter().map(|d| (d.local.0, d.kind)).collect()
    }

    #[test]
    fn what_is_missing_damaged_or_shorter_is_taken_and_nothing_else() {
        let all =
            [of(1, &["abcd", "efgh"], &[]), of(2, &["abcd", "efgh"], &[]), of(30, &["x"], &[])];
        let peer = tree(&all, &[]);
        assert_eq!(kinds(&peer, &peer), []);
        assert_eq!(kinds(&tree(&[], &[]), &peer), [(1, Missing), (2, Missing), (30, Missing)]);
        let own = tree(&[of(1, &["abcd", "efgh"], &[4]), of(2, &["abcd"], &[])], &[30]);
        assert_eq!(kinds(&own, &peer), [(1, Incomplete), (2, Incomplete)]);
        assert_eq!(kinds(&peer, &own), [], "the other one has less");
    }

    #[test]
    fn a_peer_gives_nothing_that_it_has_damaged_or_deleted() {
        let damaged = tree(&[of(1, &["abcd", "efgh"], &[0]), of(2, &["abcd"], &[0])], &[3]);
        let own = tree(&[of(1, &["abcd"], &[]), of(3, &["abcd"], &[])], &[]);
        assert_eq!(kinds(&own, &damaged), []);
    }

    #[test]
    fn a_last_chunk_that_was_written_on_is_more_and_other_bytes_are_a_conflict() {
        let cases = [
            (vec!["abcd", "ef"], vec!["abcd", "efgh"], vec![(1, Incomplete)], vec![]),
            (vec!["abcd", "ef"], vec!["abcd", "efgh", "i"], vec![(1, Incomplete)], vec![]),
            (
                vec!["abcd", "ef"],
                vec!["abcd", "xy"],
                vec![(1, Conflicting)],
                vec![(1, Conflicting)],
            ),
            (
                vec!["abcd", "efgh"],
                vec!["abxd", "efgh"],
                vec![(1, Conflicting)],
                vec![(1, Conflicting)],
            ),
        ];
        for (ours, theirs, forth, back) in cases {
            let (own, peer) = (tree(&[of(1, &ours, &[])], &[]), tree(&[of(1, &theirs, &[])], &[]));
            assert_eq!(kinds(&own, &peer), forth, "{ours:?} {theirs:?}");
            assert_eq!(kinds(&peer, &own), back, "{theirs:?} {ours:?}");
        }
    }

    #[test]
    fn absurd_trees_do_no_harm() {
        let mut peer = tree(&[of(1, &["abcd"], &[])], &[]);
        peer.block_merkle_tree.push(BlockMerkleTree::default());
        peer.block_merkle_tree.push(BlockMerkleTree { block_id: Some(-7), ..Default::default() });
        peer.block_merkle_tree.push(of(1, &["abcd", "efgh"], &[]));
        assert_eq!(
            kinds(&tree(&[of(1, &["abcd"], &[])], &[]), &peer),
            [(0, Missing), (1, Incomplete)]
        );
    }
}
