//! Blocks in their own files.

use blockio::{Op, Strike};
use proto::datanode::{ChecksumType, Result as ResultCode};

use super::scan_found::striped;
use super::*;

#[test]
fn chunks_of_any_length_make_a_block() {
    let mut node = Node::new();
    let chunks = [pattern(1, 4 << 20), pattern(2, 4 << 20), pattern(3, 611_392)];
    let committed = node.put_large(7, &chunks);
    assert_eq!(committed.length, 9_000_000);
    assert_eq!(node.read(7).unwrap(), chunks.concat());
    assert_eq!(fs::read(node.chunks_dir().join("7.block")).unwrap(), chunks.concat());
    assert_eq!(node.store().committed_length(committed.block).unwrap(), 9_000_000);
}

#[test]
fn odd_chunks_in_any_order_make_a_block() {
    let mut node = Node::new();
    node.ensure_container();
    let chunks: Vec<Bytes> = (1..12).map(|i| pattern(i, i as usize * 33_333)).collect();
    let block = block_data(7, &chunks);
    for (chunk, data) in block.chunks.iter().zip(&chunks).rev() {
        block_on(node.store().write_chunk(id(7), chunk, data.clone())).unwrap();
    }
    block_on(node.store().sync_block(id(7))).unwrap();
    node.apply(vec![Entry::Put(block)]).pop().unwrap().unwrap();
    assert_eq!(node.read(7).unwrap(), chunks.concat());
}

fn pieces(node: &Node, offset: u64, end: u64, most: u64) -> Vec<Piece> {
    let (mut pieces, mut at) = (Vec::new(), offset);
    while let Some(piece) =
        block_on(node.store().read_piece(id(7), at, end, most, ReadTimeout::Unlimited)).unwrap()
    {
        at = piece.offset + piece.data.len() as u64;
        pieces.push(piece);
    }
    pieces
}

#[test]
fn pieces_of_a_stream_lie_on_checksum_boundaries_and_verify() {
    let mut node = Node::new();
    let chunks = [pattern(1, 100_000), pattern(2, 50_000)];
    node.put_large(7, &chunks);
    let whole: Vec<u8> = chunks.concat();
    // Expected starts of pieces, for the requested range.
    let cases: [(u64, u64, u64, &[u64]); 6] = [
        (70_000, 110_000, 1 << 20, &[65_536, 100_000]),
        (0, 150_000, 40_000, &[0, 32_768, 65_536, 98_304, 100_000, 132_768]),
        (70_000, 150_000, 1, &[65_536, 81_920, 98_304, 100_000, 116_384, 132_768, 149_152]),
        (0, u64::MAX, u64::MAX, &[0, 100_000]),
        (150_000, u64::MAX, 1 << 20, &[]),
        (5, 5, 1 << 20, &[]),
    ];
    for (offset, end, most, starts) in cases {
        let pieces = pieces(&node, offset, end, most);
        assert_eq!(pieces.iter().map(|p| p.offset).collect::<Vec<_>>(), starts);
        for piece in &pieces {
            checksum::verify(&piece.checksum, &piece.data).unwrap();
            let start = piece.offset as usize;
            assert_eq!(piece.data, whole[start..start + piece.data.len()]);
            assert!(piece.data.len() as u64 <= most.max(16 << 10));
        }
        if let Some(last) = pieces.last() {
            assert!(last.offset + last.data.len() as u64 >= end.min(150_000));
        }
    }
    assert!(
        block_on(node.store().read_piece(id(7), 150_001, 150_002, 1, ReadTimeout::Unlimited))
            .is_err()
    );
}

#[test]
fn a_chunk_that_was_not_written_is_found_out() {
    let mut node = Node::new();
    node.ensure_container();
    let chunks = [pattern(1, 100_000), pattern(2, 100_000)];
    let block = block_data(7, &chunks);
    block_on(node.store().write_chunk(id(7), &block.chunks[0], chunks[0].clone())).unwrap();
    let has = |i: usize| block_on(node.store().has_payload(id(7), &block.chunks[i])).unwrap();
    assert_eq!((has(0), has(1)), (true, false));
    let refused = node.apply(vec![Entry::Put(block)]).pop().unwrap().unwrap_err();
    assert_eq!(refused.result(), ResultCode::ChunkFileInconsistency);
    assert_eq!(node.container().state(), container::ContainerState::Unhealthy);
}

#[test]
fn a_hole_is_not_a_chunk_even_without_checksums() {
    let node = Node::new();
    node.ensure_container();
    let chunks = [pattern(1, 100_000), pattern(2, 100_000)];
    let mut block = block_data(7, &chunks);
    for chunk in &mut block.chunks {
        chunk.checksum_data = checksum::compute(ChecksumType::None, 0, &[]);
    }
    block_on(node.store().write_chunk(id(7), &block.chunks[1], chunks[1].clone())).unwrap();
    block_on(node.store().sync_block(id(7))).unwrap();
    let has = |i: usize| block_on(node.store().has_payload(id(7), &block.chunks[i])).unwrap();
    assert_eq!((has(0), has(1)), (false, true));
}

#[test]
fn a_lost_write_is_never_synced_over() {
    let node = Node::new();
    node.ensure_container();
    let data = pattern(1, 200_000);
    let chunk = block_data(7, std::slice::from_ref(&data)).chunks.remove(0);
    node.faults.once(Op::Write, "7.block", Strike::NoSpace);
    let full = block_on(node.store().write_chunk(id(7), &chunk, data.clone())).unwrap_err();
    assert_eq!(full.result(), ResultCode::DiskOutOfSpace);
    let refused = block_on(node.store().sync_block(id(7))).unwrap_err();
    assert_eq!(refused.result(), ResultCode::DiskOutOfSpace);
    block_on(node.store().write_chunk(id(7), &chunk, data)).unwrap();
    block_on(node.store().sync_block(id(7))).unwrap();
}

#[test]
fn a_block_file_that_is_gone_is_not_durable() {
    let node = Node::new();
    node.ensure_container();
    let data = [pattern(1, 200_000)];
    let (with_bytes, without) = (block_data(7, &data), block_data(8, &[]));
    block_on(node.store().write_chunk(id(7), &with_bytes.chunks[0], data[0].clone())).unwrap();
    block_on(node.store().sync_chunks(id(7), &with_bytes)).unwrap();
    fs::remove_file(node.chunks_dir().join("7.block")).unwrap();
    node.container().disk().io.forget(&node.chunks_dir());
    block_on(node.store().sync_chunks(id(7), &with_bytes)).unwrap_err();
    block_on(node.store().sync_chunks(id(8), &without)).unwrap();
}

#[test]
fn wrong_chunks_are_refused_on_the_way_in() {
    let node = Node::with(|options| options.verify_writes = true);
    node.ensure_container();
    let data = pattern(1, 1000);
    let chunk = block_data(7, std::slice::from_ref(&data)).chunks.remove(0);
    let write = |data: Bytes| block_on(node.store().write_chunk(id(7), &chunk, data));
    assert_eq!(write(pattern(2, 1000)).unwrap_err().result(), ResultCode::ChecksumMismatch);
    assert_eq!(write(data.slice(1..)).unwrap_err().result(), ResultCode::InvalidWriteSize);
    write(data).unwrap();
}

#[test]
fn a_block_grows_with_every_put_and_never_shrinks() {
    let mut node = Node::new();
    let chunks = [pattern(1, 100_000), pattern(2, 50_000)];
    node.put_large(7, &chunks[..1]);
    node.put_large(7, &chunks);
    let info = node.container().info();
    assert_eq!((info.used, info.blocks, info.bcsid), (150_000, 1, 2));
    let shorter = block_data(7, &chunks[..1]);
    let refused = node.apply(vec![Entry::Put(shorter)]).pop().unwrap().unwrap_err();
    assert_eq!(refused.result(), ResultCode::InvalidArgument);
    assert_eq!(node.read(7).unwrap(), chunks.concat());
}

#[tokio::test]
async fn a_direct_put_is_durable_when_it_returns() {
    let mut node = Node::new();
    node.ensure_container();
    let data = pattern(1, 100_000);
    let block = block_data(7, std::slice::from_ref(&data));
    node.store().write_chunk(id(7), &block.chunks[0], data.clone()).await.unwrap();
    let committed = node.store().put_block_direct(&block).await.unwrap();
    assert_eq!((committed.block.bcsid, committed.length), (0, 100_000));
    node.kill();
    node.open();
    assert_eq!(node.store().get_block(id(7)).unwrap().size, Some(100_000));
    assert_eq!(node.container().info().used, 100_000);
}

/// A block of two chunks, and those of them written that are wanted.
async fn write_some(node: &Node, wanted: [bool; 2]) -> BlockData {
    let data = [pattern(1, 100_000), pattern(2, 50_000)];
    let block = block_data(7, &data);
    for ((chunk, data), wanted) in block.chunks.iter().zip(data).zip(wanted) {
        if wanted {
            node.store().write_chunk(id(7), chunk, data).await.unwrap();
        }
    }
    block
}

#[tokio::test]
async fn a_direct_put_of_a_chunk_that_is_not_here_is_refused() {
    let node = striped();
    // The file is as long as it should be, with a hole in the front.
    let block = write_some(&node, [false, true]).await;
    let refused = node.store().put_block_direct(&block).await.unwrap_err();
    assert_eq!(refused.result(), ResultCode::UnableToFindChunk, "{refused}");
    assert!(node.store().get_block(id(7)).is_err());
    write_some(&node, [true, false]).await;
    node.store().put_block_direct(&block).await.unwrap();
    // The reply was lost: it comes again.
    node.store().put_block_direct(&block).await.unwrap();
    assert_eq!(node.read(7).unwrap().len(), 150_000);
}

#[tokio::test]
async fn what_was_written_before_its_container_was_deleted_is_not_put_into_the_next_one() {
    let node = striped();
    write_some(&node, [true, false]).await;
    node.store().close(CONTAINER, None).unwrap();
    node.store().delete_container(CONTAINER, false).unwrap();
    let new = NewContainer { id: CONTAINER, replica_index: 3, ..NewContainer::default() };
    node.store().create_container(new).unwrap();
    let block = write_some(&node, [false, true]).await;
    let refused = node.store().put_block_direct(&block).await.unwrap_err();
    assert_eq!(refused.result(), ResultCode::UnableToFindChunk, "{refused}");
}

#[tokio::test]
async fn a_direct_put_finds_what_was_written_before_a_restart() {
    let mut node = striped();
    write_some(&node, [true, true]).await;
    node.stop();
    node.open();
    let block = write_some(&node, [false, false]).await;
    node.store().put_block_direct(&block).await.unwrap();
    assert_eq!(node.read(7).unwrap().len(), 150_000);
}
