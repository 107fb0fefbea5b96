//! Limits on messages about a block.

use container::checksum::{ChecksumError, check_form, compute};
use container::chunks::{
    ChunkListError, LimitError, MAX_CHUNK_LEN, MAX_CHUNKS, check_chunk, check_list, check_small,
};
use proptest::prelude::*;
use proto::datanode::{BlockData, ChecksumData, ChecksumType, ChunkInfo, KeyValue};

const LIMIT: u64 = 256 << 20;

fn unchecked() -> ChecksumData {
    compute(ChecksumType::None, 0, &[])
}

fn chunk(offset: u64, len: u64) -> ChunkInfo {
    ChunkInfo {
        chunk_name: "c".into(),
        offset,
        len,
        checksum_data: unchecked(),
        ..Default::default()
    }
}

fn list(chunks: Vec<ChunkInfo>) -> BlockData {
    BlockData { chunks, ..Default::default() }
}

#[test]
fn what_clients_send_passes() {
    let data = vec![7; 50_000];
    for kind in [ChecksumType::Crc32, ChecksumType::Crc32c, ChecksumType::Md5, ChecksumType::Sha256]
    {
        let sums = compute(kind, 16 << 10, &data);
        assert_eq!(check_form(&sums, 50_000), Ok(()));
        let checked = ChunkInfo { checksum_data: sums, ..chunk(0, 50_000) };
        assert_eq!(check_small(&list(vec![checked.clone()]), &checked), Ok(()));
        // Writers may end a block with an empty chunk.
        assert_eq!(check_list(&list(vec![checked, chunk(50_000, 0)]), LIMIT), Ok(()));
    }
    assert_eq!(check_list(&list(vec![]), LIMIT), Ok(()));
}

#[test]
fn a_chunk_is_no_longer_than_one_can_be_written() {
    for len in [MAX_CHUNK_LEN + 1, 1 << 50, u64::MAX] {
        assert!(matches!(check_chunk(&chunk(0, len), u64::MAX), Err(LimitError::LongChunk { .. })));
    }
    for offset in [LIMIT, LIMIT - 9, 1 << 62, u64::MAX] {
        let error = check_chunk(&chunk(offset, 10), LIMIT);
        assert!(matches!(error, Err(LimitError::LongBlock { .. })), "{offset}");
    }
    assert_eq!(check_chunk(&chunk(LIMIT - 10, 10), LIMIT), Ok(()));
}

#[test]
fn a_list_is_bounded_and_contiguous() {
    let many = (0..=MAX_CHUNKS as u64).map(|n| chunk(n, 1)).collect();
    assert_eq!(check_list(&list(many), LIMIT), Err(LimitError::ManyChunks(MAX_CHUNKS + 1)));
    let gap = list(vec![chunk(10, 10), chunk(21, 10)]);
    assert!(matches!(check_list(&gap, LIMIT), Err(LimitError::List(ChunkListError::Gap { .. }))));
    // An incremental list may begin anywhere.
    let metadata = vec![KeyValue { key: "incremental".into(), value: None }];
    let new = |chunks| BlockData { metadata: metadata.clone(), ..list(chunks) };
    assert_eq!(check_list(&new(vec![chunk(10, 10), chunk(20, 5)]), LIMIT), Ok(()));
    let gap = new(vec![chunk(10, 10), chunk(21, 10)]);
    assert!(matches!(check_list(&gap, LIMIT), Err(LimitError::List(ChunkListError::Gap { .. }))));
}

#[test]
fn checksums_fit_their_chunk() {
    let sums = compute(ChecksumType::Crc32, 16, &[1; 40]);
    assert_eq!(check_form(&sums, 48), Ok(()));
    assert_eq!(check_form(&sums, 49), Err(ChecksumError::Count { got: 3, expected: 4 }));
    let mut wide = sums.clone();
    wide.checksums[1] = bytes::Bytes::from_static(b"12345");
    assert_eq!(check_form(&wide, 40), Err(ChecksumError::Width { slice: 1, width: 4 }));
    let none = ChecksumData { checksums: sums.checksums, ..unchecked() };
    assert_eq!(check_form(&none, 40), Err(ChecksumError::Count { got: 3, expected: 0 }));
}

#[test]
fn a_small_file_is_its_chunk() {
    let small = chunk(0, 100);
    for claimed in [
        vec![],
        vec![chunk(0, 1 << 50)],
        vec![chunk(0, 99)],
        vec![chunk(1, 100)],
        vec![chunk(0, 100), chunk(100, 1)],
    ] {
        let error = check_small(&list(claimed), &small);
        assert_eq!(error, Err(LimitError::OtherThanItsChunk(100)));
    }
    assert!(
        check_small(&BlockData { size: Some(101), ..list(vec![small.clone()]) }, &small).is_err()
    );
}

/// Numbers near the limits of their type.
fn extreme() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(MAX_CHUNK_LEN),
        Just(1 << 32),
        Just(1 << 50),
        Just(i64::MAX as u64),
        Just(u64::MAX),
        any::<u64>(),
    ]
}

proptest! {
    #[test]
    fn nothing_panics_and_what_passes_is_bounded(
        parts in prop::collection::vec((extreme(), extreme(), any::<u32>(), 0..6i32), 0..6),
        size in prop::option::of(any::<i64>()),
    ) {
        let chunks = parts.into_iter().map(|(offset, len, slice, kind)| ChunkInfo {
            checksum_data: ChecksumData {
                r#type: kind, bytes_per_checksum: slice, checksums: Vec::new(),
            },
            ..chunk(offset, len)
        });
        let block = BlockData { size, ..list(chunks.collect()) };
        if check_list(&block, LIMIT).is_ok() {
            for chunk in &block.chunks {
                prop_assert!(chunk.offset + chunk.len <= LIMIT);
            }
        }
    }
}
