//! Scans find what is damaged, each kind of damage by itself.

use blockio::{Op, Strike};
use container::ContainerState;
use metastore::{Batch, Durability, Table};
use prost::Message;

use super::damage::flip;
use super::*;
use crate::tables::{self, BLOCK_DATA, METADATA, StoredBlock};

/// A closed container: blocks 1 and 2 in files of their own, 3 and 4 packed.
fn closed() -> Node {
    let mut node = Node::new();
    node.put_large(1, &[pattern(1, 300_000), pattern(2, 50_000)]);
    node.put_large(2, &[pattern(3, 70_000)]);
    node.put_small(3, pattern(4, 3_000));
    node.put_small(4, pattern(5, 3_000));
    node.close();
    node.store().take_changed();
    node
}

/// Each scan that reads everything finds it, and it is reported.
async fn is_found(node: &Node, kind: ScanKind, words: &str) {
    let Verdict::Damaged(reason) = node.scan(kind).await else { panic!("it is not found") };
    assert!(reason.contains(words), "{reason}");
    assert_eq!(node.container().state(), ContainerState::Unhealthy);
    assert_eq!(node.store().take_changed().len(), 1, "it is reported");
    let scans = node.store().disks()[0].scans();
    assert_eq!(scans.of(kind).damaged, 1);
    assert_eq!(scans.last_damage().unwrap().reason, reason);
    assert_eq!(node.scan(kind).await, Verdict::Moot);
}

fn cut(path: &Path, len: u64) {
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
}

fn segment(node: &Node) -> PathBuf {
    node.chunks_dir().join("00000001.segment")
}

fn container_file(node: &Node) -> PathBuf {
    node.container().path().join("metadata/1.container")
}

fn change(node: &Node, change: impl FnOnce(&mut Batch)) {
    let mut batch = Batch::new();
    change(&mut batch);
    node.container().disk().db.write(batch, Durability::NoWal).unwrap();
}

fn change_row(node: &Node, local: u64, alter: impl FnOnce(&mut StoredBlock)) {
    let mut row = node.container().block_row(LocalId(local)).unwrap().unwrap();
    alter(&mut row);
    let key = tables::block_key(CONTAINER, LocalId(local));
    change(node, |batch| batch.put(BLOCK_DATA, key, row.encode_to_vec()));
}

fn remove_row(node: &Node, table: Table, key: Vec<u8>) {
    change(node, |batch| batch.delete(table, key));
}

#[tokio::test]
async fn a_sound_container_is_found_sound_by_every_scan() {
    let node = closed();
    for kind in ScanKind::ALL {
        assert_eq!(node.scan(kind).await, Verdict::Sound, "{kind:?}");
    }
    let of = |kind| node.store().scans(kind);
    assert_eq!((of(ScanKind::Data).containers, of(ScanKind::Data).damaged), (1, 0));
    assert_eq!(of(ScanKind::Data).bytes, 300_000 + 50_000 + 70_000 + 2 * 3_000);
    assert_eq!(of(ScanKind::OnDemand).bytes, of(ScanKind::Data).bytes);
    assert_eq!((of(ScanKind::Metadata).containers, of(ScanKind::Metadata).bytes), (1, 0));
    assert!(node.store().take_changed().is_empty());
}

#[tokio::test]
async fn a_flipped_bit_in_a_block_file_is_found() {
    for at in [0, 299_999, 300_000, 349_999] {
        let node = closed();
        flip(&node.chunks_dir().join("1.block"), at);
        assert_eq!(node.scan(ScanKind::Metadata).await, Verdict::Sound);
        is_found(&node, ScanKind::Data, "checksum mismatch").await;
    }
}

#[tokio::test]
async fn a_flipped_bit_in_a_packed_segment_is_found() {
    let node = closed();
    flip(&segment(&node), 64 + 32 + 1_234);
    assert_eq!(node.scan(ScanKind::Metadata).await, Verdict::Sound);
    is_found(&node, ScanKind::Data, "is damaged").await;
}

#[tokio::test]
async fn a_checksum_that_changed_in_the_row_of_a_packed_block_is_found() {
    let node = closed();
    change_row(&node, 3, |row| {
        let sum = row.chunks[0].checksum_data.checksums[0].to_vec();
        let wrong: Vec<u8> = sum.iter().map(|byte| byte ^ 1).collect();
        row.chunks[0].checksum_data.checksums[0] = wrong.into();
    });
    is_found(&node, ScanKind::Data, "checksum mismatch").await;
}

#[tokio::test]
async fn a_block_file_that_was_cut_is_found() {
    let node = closed();
    // Some of the remaining bytes are in the page cache, and the file is open.
    assert_eq!(node.read(1).unwrap().len(), 350_000);
    cut(&node.chunks_dir().join("1.block"), 349_999);
    is_found(&node, ScanKind::Data, "349999").await;
}

#[tokio::test]
async fn a_block_file_that_is_missing_is_found_although_it_is_open() {
    let node = closed();
    assert_eq!(node.read(2).unwrap().len(), 70_000);
    fs::remove_file(node.chunks_dir().join("2.block")).unwrap();
    is_found(&node, ScanKind::OnDemand, "should have 70000 bytes on disk, there are 0").await;
}

#[tokio::test]
async fn a_segment_that_was_cut_or_is_missing_is_found_by_the_metadata_scan() {
    let node = closed();
    cut(&segment(&node), 5_000);
    is_found(&node, ScanKind::Metadata, "has 5000 bytes").await;
    let node = closed();
    assert_eq!(node.read(3).unwrap().len(), 3_000);
    fs::remove_file(segment(&node)).unwrap();
    is_found(&node, ScanKind::Metadata, "has 0 bytes").await;
}

#[tokio::test]
async fn bytes_that_the_device_does_not_give_are_found() {
    let node = closed();
    node.faults.always(Op::Read, "2.block", Strike::Eio);
    is_found(&node, ScanKind::Data, "Input/output error").await;
}

#[tokio::test]
async fn a_row_of_a_block_that_is_missing_is_found() {
    for local in [1, 3] {
        let node = closed();
        remove_row(&node, BLOCK_DATA, tables::block_key(CONTAINER, LocalId(local)));
        assert_eq!(node.scan(ScanKind::Metadata).await, Verdict::Sound);
        is_found(&node, ScanKind::Data, "3 blocks of").await;
    }
}

#[tokio::test]
async fn a_row_of_a_block_that_does_not_decode_is_found() {
    let node = closed();
    let key = tables::block_key(CONTAINER, LocalId(2));
    change(&node, |batch| batch.put(BLOCK_DATA, key, vec![0xff; 9]));
    is_found(&node, ScanKind::Data, "row of block_data").await;
}

#[tokio::test]
async fn rows_of_sums_that_are_missing_or_differ_are_found_by_the_metadata_scan() {
    for name in [tables::BLOCK_COUNT, tables::BYTES_USED, tables::BCSID] {
        let node = closed();
        remove_row(&node, METADATA, tables::metadata_key(CONTAINER, name));
        is_found(&node, ScanKind::Metadata, name).await;
        let node = closed();
        let key = tables::metadata_key(CONTAINER, name);
        change(&node, |batch| batch.put(METADATA, key, 7u64.to_be_bytes()));
        is_found(&node, ScanKind::Metadata, name).await;
    }
}

#[tokio::test]
async fn rows_of_sums_that_were_lost_before_a_restart_are_found() {
    let mut node = closed();
    remove_row(&node, METADATA, tables::metadata_key(CONTAINER, tables::BLOCK_COUNT));
    node.stop();
    node.open();
    is_found(&node, ScanKind::Data, "4 blocks of").await;
}

#[tokio::test]
async fn a_length_that_is_not_that_of_the_chunks_is_found() {
    let node = closed();
    // Their sum is right.
    for (local, by) in [(1, -1), (2, 1)] {
        change_row(&node, local, |row| row.size = row.size.map(|size| size + by));
    }
    assert_eq!(node.scan(ScanKind::Metadata).await, Verdict::Sound);
    is_found(&node, ScanKind::Data, "chunks add up to").await;
}

#[tokio::test]
async fn a_packed_length_that_is_not_that_of_the_block_is_found() {
    let node = closed();
    change_row(&node, 3, |row| row.packed.as_mut().unwrap().len -= 1);
    is_found(&node, ScanKind::Data, "should have 3000 bytes on disk, there are 2999").await;
}

#[tokio::test]
async fn a_folder_that_was_removed_is_found_by_the_metadata_scan() {
    for folder in ["", "metadata", "chunks"] {
        let node = closed();
        fs::remove_dir_all(node.container().path().join(folder)).unwrap();
        is_found(&node, ScanKind::Metadata, "No such file or directory").await;
    }
    let node = closed();
    fs::remove_dir_all(node.chunks_dir()).unwrap();
    fs::write(node.chunks_dir(), b"no folder").unwrap();
    is_found(&node, ScanKind::Metadata, "is not a directory").await;
}

#[tokio::test]
async fn a_container_file_that_is_gone_or_says_something_else_is_found() {
    let node = closed();
    fs::remove_file(container_file(&node)).unwrap();
    is_found(&node, ScanKind::Metadata, "No such file or directory").await;
    let node = closed();
    flip(&container_file(&node), 200);
    is_found(&node, ScanKind::Metadata, "1.container").await;
    let node = closed();
    fs::write(container_file(&node), [0xff, 0xfe, 0xfd]).unwrap();
    is_found(&node, ScanKind::Metadata, "1.container").await;

    // One that is whole, of another time.
    let mut node = Node::new();
    node.put_small(1, pattern(1, 100));
    let open = fs::read(container_file(&node)).unwrap();
    node.close();
    node.store().take_changed();
    fs::write(container_file(&node), open).unwrap();
    is_found(&node, ScanKind::Metadata, "has another state").await;
}

#[tokio::test]
async fn open_containers_are_checked_by_the_metadata_scan_and_read_on_demand_only() {
    let mut node = Node::new();
    node.put_large(1, &[pattern(1, 300_000)]);
    node.put_small(2, pattern(2, 3_000));
    for (kind, verdict) in [
        (ScanKind::Metadata, Verdict::Sound),
        (ScanKind::Data, Verdict::Moot),
        (ScanKind::OnDemand, Verdict::Sound),
    ] {
        assert_eq!(node.scan(kind).await, verdict);
    }
    node.store().take_changed();
    fs::remove_dir_all(node.chunks_dir()).unwrap();
    is_found(&node, ScanKind::Metadata, "No such file or directory").await;
}

#[tokio::test]
async fn a_replica_that_is_being_rebuilt_is_touched_by_no_scan() {
    let node = Node::new();
    let new =
        NewContainer { id: CONTAINER, state: InitialState::Recovering, ..NewContainer::default() };
    node.store().create_container(new).unwrap();
    fs::remove_dir_all(node.chunks_dir()).unwrap();
    for kind in ScanKind::ALL {
        assert_eq!(node.scan(kind).await, Verdict::Moot, "{kind:?}");
    }
    assert_eq!(node.container().state(), ContainerState::Recovering);
}

/// Puts a block of these chunks into an erasure-coded replica.
pub(super) async fn put_striped(node: &Node, local: u64, chunks: &[Bytes]) {
    let mut block = block_data(local, chunks);
    for (chunk, data) in block.chunks.iter_mut().zip(chunks) {
        chunk.stripe_checksum = Some(pattern(9, 12));
        node.store().write_chunk(id(local), chunk, data.clone()).await.unwrap();
    }
    node.store().put_block_direct(&block).await.unwrap();
}

pub(super) fn striped() -> Node {
    let node = Node::new();
    let new = NewContainer { id: CONTAINER, replica_index: 3, ..NewContainer::default() };
    node.store().create_container(new).unwrap();
    node
}

#[tokio::test]
async fn an_erasure_coded_replica_is_sound_with_blocks_of_which_it_has_no_bytes() {
    let node = striped();
    // Padding only: no chunks, and no file.
    node.store().put_block_direct(&block_data(1, &[])).await.unwrap();
    // A writer that ends with an empty chunk.
    node.store().put_block_direct(&block_data(2, &[Bytes::new()])).await.unwrap();
    put_striped(&node, 3, &[pattern(1, 100_000), pattern(2, 100_000)]).await;
    node.store().close(CONTAINER, None).unwrap();
    assert!(!node.chunks_dir().join("1.block").exists());
    for kind in ScanKind::ALL {
        assert_eq!(node.scan(kind).await, Verdict::Sound, "{kind:?}");
    }
    node.store().take_changed();
    flip(&node.chunks_dir().join("3.block"), 150_000);
    is_found(&node, ScanKind::Data, "checksum mismatch").await;
}

#[tokio::test]
async fn sums_of_blocks_that_no_log_orders_are_right_after_a_crash_in_a_deletion() {
    let mut node = Node::new();
    // A packed block of another container keeps the flush of the deletion from its end.
    node.put_small(8, pattern(8, 1_000));
    let other = ContainerId(2);
    let new = NewContainer { id: other, replica_index: 3, ..NewContainer::default() };
    node.store().create_container(new).unwrap();
    let put = |node: &Node, local: u64| {
        let mut block = block_data(local, &[pattern(local, 10_000)]);
        block.block_id.container_id = other.to_wire();
        let at = BlockId::new(other, LocalId(local));
        let (chunk, data) = (block.chunks[0].clone(), pattern(local, 10_000));
        block_on(node.store().write_chunk(at, &chunk, data)).unwrap();
        block
    };
    for local in 1..=3 {
        let block = put(&node, local);
        node.store().put_block_direct(&block).await.unwrap();
    }
    node.pipe().flush().unwrap();
    node.put_small(9, pattern(9, 1_000));
    let mut delete = transaction(1, &[1, 2]);
    delete.container_id = other.to_wire();
    node.store().delete_blocks(&[delete]).pop().unwrap().outcome.unwrap();
    node.faults.always(Op::Write, "segment", Strike::NoSpace);
    assert!(node.store().reclaim(100).is_err(), "it does not come to its flush");
    let block = put(&node, 4);
    node.store().put_block_direct(&block).await.unwrap();
    node.faults.clear();
    node.kill();
    node.open();
    node.replay();
    node.store().reclaim(100).unwrap();
    node.store().close(other, None).unwrap();
    let now = SystemTime::now();
    let verdict = node.store().scan_data(other, ScanKind::Data, &Unpaced, now).await.unwrap();
    assert_eq!(verdict, Verdict::Sound);
    let info = node.store().container(other).unwrap().info();
    assert_eq!((info.blocks, info.used), (2, 20_000));
}
