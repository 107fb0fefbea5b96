//! Visibility of applied entries, and refused ones.

use proto::datanode::Result as ResultCode;
use types::{BlockId, LocalId};

use super::*;

#[test]
fn a_small_block_is_readable_at_once_and_counted() {
    let mut node = Node::new();
    let data = pattern(1, 10_000);
    let committed = node.put_small(7, data.clone());
    assert_eq!((committed.block.bcsid, committed.length), (1, 10_000));
    assert_eq!(node.read(7).unwrap(), data);
    let info = node.container().info();
    assert_eq!((info.used, info.blocks, info.bcsid), (10_000, 1, 1));
    let (block, chunk, bytes) =
        block_on(node.store().get_small_file(committed.block, ReadTimeout::Unlimited)).unwrap();
    assert_eq!((block.size, chunk.len, bytes), (Some(10_000), 10_000, data));
    // Nothing is in a file of its own.
    assert!(!node.chunks_dir().join("7.block").exists());
}

#[test]
fn a_part_of_a_packed_block_is_a_slice_of_it() {
    let mut node = Node::new();
    let data = pattern(1, 50_000);
    node.put_small(7, data.clone());
    node.pipe().flush().unwrap();
    let mut chunk = block_data(7, std::slice::from_ref(&data)).chunks.remove(0);
    (chunk.offset, chunk.len) = (16_384, 20_000);
    let part = block_on(node.store().read_chunk(id(7), &chunk, ReadTimeout::Unlimited)).unwrap();
    assert_eq!(part, data.slice(16_384..36_384));
    chunk.len = 40_000;
    let beyond =
        block_on(node.store().read_chunk(id(7), &chunk, ReadTimeout::Unlimited)).unwrap_err();
    assert_eq!(beyond.result(), ResultCode::UnableToFindChunk);
}

#[test]
fn a_file_above_the_threshold_gets_its_own_file() {
    let mut node = Node::new();
    let data = pattern(1, 100_000);
    node.put_small(7, data.clone());
    assert!(node.chunks_dir().join("7.block").exists());
    assert_eq!(node.read(7).unwrap(), data);
}

#[test]
fn later_entries_of_a_round_see_earlier_ones() {
    let mut node = Node::new();
    let (old, new) = (pattern(1, 100), pattern(2, 150));
    let outcomes = node.apply(vec![
        Entry::Small(LocalId(7), old),
        Entry::Small(LocalId(7), new.clone()),
        Entry::Close,
        Entry::Small(LocalId(8), pattern(3, 10)),
    ]);
    assert!(outcomes[..3].iter().all(std::result::Result::is_ok));
    assert_eq!(outcomes[3].as_ref().unwrap_err().result(), ResultCode::ClosedContainerIo);
    assert_eq!(node.read(7).unwrap(), new);
    let info = node.container().info();
    assert_eq!((info.used, info.blocks, info.bcsid), (150, 1, 2));
}

#[test]
fn a_reader_that_knows_more_is_told_so() {
    let mut node = Node::new();
    node.put_small(7, pattern(1, 100));
    let ask = |local, bcsid| {
        let block = BlockId { bcsid, ..id(local) };
        node.store().get_block(block).map(|_| ()).map_err(|e| e.result())
    };
    assert_eq!(ask(7, 1), Ok(()));
    assert_eq!(ask(7, 2), Err(ResultCode::UnknownBcsid));
    assert_eq!(ask(9, 0), Err(ResultCode::NoSuchBlock));
    let mut node = node;
    node.put_small(8, pattern(1, 100));
    let behind = node.store().get_block(BlockId { bcsid: 2, ..id(7) }).unwrap_err();
    assert_eq!(behind.result(), ResultCode::BcsidMismatch);
    let nowhere = node.store().get_block(BlockId::default()).unwrap_err();
    assert_eq!(nowhere.result(), ResultCode::ContainerNotFound);
}

#[test]
fn a_batch_that_is_not_committed_leaves_nothing_to_see() {
    let node = Node::new();
    let pipe = node.pipe();
    let data = pattern(1, 100);
    let block = block_data(7, std::slice::from_ref(&data));
    let at = Position { term: 1, index: 1 };
    let mut batch = pipe.begin();
    batch.create_container(at, CONTAINER, 0).unwrap();
    batch.put_small_file(at, &block, &block.chunks[0], data).unwrap();
    drop(batch);
    assert_eq!(node.read(7).unwrap_err().result(), ResultCode::NoSuchBlock);
    assert_eq!(node.container().info().blocks, 0);
    assert_eq!(pipe.applied(), Position::default());
}

#[test]
fn bytes_beyond_the_bound_are_written_before_any_flush() {
    let mut node = Node::with(|options| options.pending_bytes = 64 << 10);
    for local in 1..=20 {
        node.put_small(local, pattern(local, 10_000));
    }
    let disk = &node.store().disks()[0];
    assert!(disk.pending_bytes() < 80 << 10);
    let segment = fs::metadata(node.chunks_dir().join("00000001.segment")).unwrap();
    assert!(segment.len() > 100_000);
    for local in 1..=20 {
        assert_eq!(node.read(local).unwrap(), pattern(local, 10_000));
    }
}

#[test]
fn blocks_are_listed_from_a_start_in_portions() {
    let mut node = Node::new();
    for local in 101..=109 {
        node.put_small(local, pattern(local, 10));
    }
    let list = |start, count| -> Vec<i64> {
        let blocks = node.store().list_block(CONTAINER, start, count, usize::MAX).unwrap();
        blocks.iter().map(|block| block.block_id.local_id).collect()
    };
    assert_eq!(list(0, 3), [101, 102, 103]);
    assert_eq!(list(104, 2), [104, 105]);
    assert_eq!(list(108, 10), [108, 109]);
}

#[test]
fn a_full_container_is_named_once() {
    let mut node = Node::with(|options| options.container_size = 100_000);
    node.put_small(1, pattern(1, 60_000));
    assert_eq!(node.store().take_full(), []);
    node.put_small(2, pattern(1, 40_000));
    assert_eq!(node.store().take_full(), [CONTAINER]);
    node.put_small(3, pattern(1, 10));
    assert_eq!(node.store().take_full(), []);
}
