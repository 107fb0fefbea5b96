//! Chunk lists of PutBlock.

use container::chunks::{
    BlockState, ChunkListError, Merged, extend, is_incremental, locate, merge, validate_list,
    validate_write,
};
use proptest::prelude::*;
use proto::datanode::{BlockData, ChunkInfo, KeyValue};

fn chunk(n: usize, offset: u64, len: u64) -> ChunkInfo {
    ChunkInfo { chunk_name: format!("7_chunk_{n}"), offset, len, ..Default::default() }
}

fn block(lens: &[u64]) -> BlockData {
    let mut offset = 0;
    let chunks = lens.iter().enumerate().map(|(i, len)| {
        offset += len;
        chunk(i + 1, offset - len, *len)
    });
    BlockData { chunks: chunks.collect(), ..Default::default() }
}

#[test]
fn the_chunks_of_a_nine_megabyte_key_add_up() {
    assert_eq!(validate_list(&block(&[4_194_304, 4_194_304, 611_392])), Ok(9_000_000));
    assert_eq!(validate_list(&block(&[])), Ok(0), "EC replicas without data");
}

#[test]
fn one_empty_chunk_is_tolerated_at_the_end_only() {
    assert_eq!(validate_list(&block(&[10, 0])), Ok(10));
    assert_eq!(
        validate_list(&block(&[10, 0, 5])),
        Err(ChunkListError::Empty { name: "7_chunk_2".into() })
    );
}

#[test]
fn gaps_overlaps_and_wrong_sizes_are_refused() {
    let mut gap = block(&[10, 10]);
    gap.chunks[1].offset = 11;
    assert_eq!(
        validate_list(&gap),
        Err(ChunkListError::Gap { name: "7_chunk_2".into(), offset: 11, expected: 10 })
    );
    let mut sized = block(&[10]);
    sized.size = Some(9);
    assert_eq!(validate_list(&sized), Err(ChunkListError::WrongSize { size: 9, sum: 10 }));
    sized.size = Some(0);
    assert_eq!(validate_list(&sized), Ok(10), "clients do not send the size");
    let far = BlockData { chunks: vec![chunk(1, 0, u64::MAX)], ..Default::default() };
    assert_eq!(validate_list(&far), Err(ChunkListError::TooFar { name: "7_chunk_1".into() }));
}

fn incremental(chunks: Vec<ChunkInfo>) -> BlockData {
    let entry = |key: &str| KeyValue { key: key.into(), value: None };
    BlockData { chunks, metadata: vec![entry("TYPE"), entry("incremental")], ..Default::default() }
}

#[test]
fn an_incremental_list_describes_the_growing_chunk_again_and_again() {
    let mut there = Vec::new();
    let window = 4 << 20;
    // The first window grows until it is full, the second one begins in the same list.
    let steps = [
        (vec![chunk(0, 0, 1000)], 1000),
        (vec![chunk(0, 0, 3000)], 3000),
        (vec![], 3000),
        (vec![chunk(0, 0, window), chunk(1, window, 10)], window + 10),
        (vec![chunk(1, window, 20)], window + 20),
    ];
    for (chunks, length) in steps {
        let new = incremental(chunks);
        assert!(is_incremental(&new));
        let whole = extend(&there, &new);
        assert!(!is_incremental(&whole) && whole.metadata.len() == 1);
        assert_eq!(validate_list(&whole), Ok(length));
        there = whole.chunks;
    }
    assert_eq!(there.len(), 2);
}

#[test]
fn an_incremental_list_that_leaves_a_gap_is_refused() {
    let there = [chunk(1, 0, 100)];
    for start in [50, 101] {
        let whole = extend(&there, &incremental(vec![chunk(2, start, 10)]));
        assert!(matches!(validate_list(&whole), Err(ChunkListError::Gap { .. })), "{start}");
    }
}

proptest! {
    #[test]
    fn lists_in_portions_make_the_list_of_one_piece(
        lens in prop::collection::vec(1u64..1000, 1..20),
        cuts in prop::collection::vec(0usize..20, 1..8),
    ) {
        let all = block(&lens).chunks;
        let mut there: Vec<ChunkInfo> = Vec::new();
        for cut in cuts.into_iter().chain([all.len()]) {
            // From the last existing chunk, included again, up to the cut.
            let from = there.len().saturating_sub(1);
            let to = cut.clamp(from, all.len());
            there = extend(&there, &incremental(all[from..to.max(there.len())].to_vec())).chunks;
        }
        prop_assert_eq!(there, all);
    }
}

#[test]
fn a_chunk_must_bring_the_bytes_it_declares() {
    assert_eq!(validate_write(&chunk(1, 0, 5), 5), Ok(()));
    assert!(matches!(
        validate_write(&chunk(1, 0, 5), 4),
        Err(ChunkListError::WrongLength { len: 5, data: 4, .. })
    ));
    assert!(matches!(validate_write(&chunk(1, 0, 0), 0), Err(ChunkListError::Empty { .. })));
    assert!(matches!(
        validate_write(&chunk(1, u64::MAX - 2, 5), 5),
        Err(ChunkListError::TooFar { .. })
    ));
}

#[test]
fn commits_grow_a_block_and_never_shrink_it() {
    let first = merge(None, 100, 4).unwrap();
    assert_eq!((first.added_bytes, first.added_blocks), (100, 1));
    let second = merge(Some(first.block), 160, 9).unwrap();
    assert_eq!((second.added_bytes, second.added_blocks), (60, 0));
    let there = Some(BlockState { length: 160, bcsid: 9 });
    assert_eq!(merge(there, 100, 12), Err(ChunkListError::Shrinks { committed: 160, new: 100 }));
    assert_eq!(merge(there, 200, 8), Err(ChunkListError::Stale { committed: 9, new: 8 }));
}

#[test]
fn the_same_commit_twice_changes_nothing() {
    let there = BlockState { length: 160, bcsid: 9 };
    let again = Merged { block: there, added_bytes: 0, added_blocks: 0, repeated: true };
    assert_eq!(merge(Some(there), 160, 9), Ok(again));
}

proptest! {
    #[test]
    fn a_sum_of_commits_is_the_last_length(mut lens in prop::collection::vec(0u64..1 << 40, 1..20)) {
        lens.sort_unstable();
        let (mut there, mut used) = (None, 0);
        for (i, len) in lens.iter().enumerate() {
            let merged = merge(there, *len, i as u64 + 1).unwrap();
            used += merged.added_bytes;
            there = Some(merged.block);
        }
        prop_assert_eq!(used, *lens.last().unwrap());
    }

    #[test]
    fn a_range_is_found_in_the_chunk_that_holds_it(
        lens in prop::collection::vec(1u64..100, 1..10),
        pick in any::<prop::sample::Index>(),
        (skip, take) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        let data = block(&lens);
        let held = &data.chunks[pick.index(data.chunks.len())];
        let skip = skip.index(held.len as usize) as u64;
        let take = 1 + take.index((held.len - skip) as usize) as u64;
        prop_assert_eq!(locate(&data.chunks, held.offset + skip, take), Some(held));
        prop_assert_eq!(locate(&data.chunks, held.offset, held.len + 1), None);
    }
}
