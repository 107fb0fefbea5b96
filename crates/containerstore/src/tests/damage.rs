//! Disks that lie, lose and fill up.

use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;

use container::ContainerState;
use metastore::{Batch, Durability};
use proto::datanode::Result as ResultCode;
use testkit::until_blocking;

use super::*;
use crate::tables;

pub(super) fn flip(path: &Path, at: u64) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
}

/// Waits for a state that another thread brings about.
fn becomes(node: &Node, state: ContainerState) {
    until_blocking(format!("{state:?}"), || {
        let now = node.container().state();
        if now == state { Ok(()) } else { Err(now) }
    });
}

#[test]
fn a_flipped_bit_in_a_packed_block_is_refused_and_reported() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    node.put_small(2, pattern(2, 3000));
    node.pipe().flush().unwrap();
    node.store().take_changed();
    flip(&node.chunks_dir().join("00000001.segment"), 64 + 32 + 1234);
    assert_eq!(node.read(1).unwrap_err().result(), ResultCode::ChecksumMismatch);
    becomes(&node, ContainerState::Unhealthy);
    // The report follows the state.
    let changed = until_blocking("the report", || {
        Some(node.store().take_changed()).filter(|changed| !changed.is_empty())
    });
    assert_eq!(changed.len(), 1);
    assert_eq!(node.read(2).unwrap(), pattern(2, 3000), "its neighbour is still good");
}

#[test]
fn a_block_file_that_lost_bytes_makes_its_container_unhealthy_at_start() {
    let mut node = Node::new();
    node.put_large(1, &[pattern(1, 300_000)]);
    node.pipe().flush().unwrap();
    let path = node.chunks_dir().join("1.block");
    node.stop();
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(299_999).unwrap();
    node.open();
    assert_eq!(node.container().state(), ContainerState::Unhealthy);
    assert_eq!(node.store().take_changed().len(), 1);
    assert!(node.store().check_writable(CONTAINER).is_err());
}

#[test]
fn a_segment_that_lost_durable_bytes_makes_its_container_unhealthy_at_start() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    node.pipe().flush().unwrap();
    let path = node.chunks_dir().join("00000001.segment");
    node.stop();
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(2000).unwrap();
    node.open();
    assert_eq!(node.container().state(), ContainerState::Unhealthy);
}

#[test]
fn a_container_whose_directory_is_gone_is_lost_and_not_made_anew() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    node.pipe().flush().unwrap();
    let dir = node.container().path().to_owned();
    node.stop();
    fs::remove_dir_all(dir).unwrap();
    node.open();
    let lost = node.store().container(CONTAINER).unwrap_err();
    assert_eq!(lost.result(), ResultCode::ContainerMissing);
    let new = NewContainer { id: CONTAINER, ..NewContainer::default() };
    let refused = node.store().create_container(new).unwrap_err();
    assert_eq!(refused.result(), ResultCode::ContainerMissing);
}

#[test]
fn a_container_that_was_never_finished_is_swept_away() {
    let mut node = Node::new();
    node.ensure_container();
    let dir = node.container().path().to_owned();
    node.stop();
    fs::remove_file(dir.join("metadata/1.container")).unwrap();
    node.open();
    assert!(!dir.exists());
    node.put_small(1, pattern(1, 10));
}

#[test]
fn a_full_disk_refuses_writes_and_takes_them_again() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 10));
    node.stop();
    node.options.min_free_for_writes.bytes = u64::MAX >> 1;
    node.open();
    let data = pattern(1, 1000);
    let chunk = block_data(7, std::slice::from_ref(&data)).chunks.remove(0);
    let refused = block_on(node.store().write_chunk(id(7), &chunk, data.clone())).unwrap_err();
    assert_eq!(refused.result(), ResultCode::DiskOutOfSpace);
    assert!(refused.to_string().contains("must stay free"), "{refused}");
    let admitted = node.store().check_writable(CONTAINER).unwrap_err();
    assert_eq!(admitted.result(), ResultCode::DiskOutOfSpace);
    let none = node.store().choose_disk(&types::StorageType::ANY, 1).unwrap_err();
    assert_eq!(none.result(), ResultCode::DiskOutOfSpace);
    let second = NewContainer { id: ContainerId(2), ..NewContainer::default() };
    assert_eq!(
        node.store().create_container(second).unwrap_err().result(),
        ResultCode::DiskOutOfSpace
    );
    assert_eq!(node.read(1).map(|data| data.len()).unwrap_or(10), 10, "reads go on");
    node.stop();
    node.options.min_free_for_writes.bytes = 0;
    node.open();
    block_on(node.store().write_chunk(id(7), &chunk, data)).unwrap();
}

#[test]
fn a_device_error_says_nothing_about_the_bytes() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    node.pipe().flush().unwrap();
    node.faults.always(blockio::Op::Read, "segment", blockio::Strike::Eio);
    assert_eq!(node.read(1).unwrap_err().result(), ResultCode::IoException);
    node.faults.clear();
    assert_eq!(node.container().state(), ContainerState::Open);
    assert_eq!(node.read(1).unwrap(), pattern(1, 3000));
}

#[test]
fn a_compaction_that_is_tried_again_on_a_full_disk_holds_no_more_in_memory() {
    let mut node = Node::with(|options| options.segment_size = 100_000);
    for local in 1..=40 {
        node.put_small(local, pattern(local, 3000));
    }
    node.pipe().flush().unwrap();
    let pending = |node: &Node| node.store().disks()[0].pending.load(Ordering::Relaxed);
    assert_eq!(pending(&node), 0);
    node.faults.always(blockio::Op::Write, "segment", blockio::Strike::NoSpace);
    move_out_of(&node.container(), 1, 100_000).unwrap_err();
    let once = pending(&node);
    assert!(once > 0, "the copies of one try wait");
    for _ in 0..3 {
        move_out_of(&node.container(), 1, 100_000).unwrap_err();
        assert_eq!(pending(&node), once);
    }
    node.faults.clear();
    move_out_of(&node.container(), 1, 100_000).unwrap();
    assert_eq!((pending(&node), live_in(&node.container(), 1)), (0, vec![]));
    for local in 1..=40 {
        assert_eq!(node.read(local).unwrap(), pattern(local, 3000));
    }
}

/// Removes rows from the disk that it had confirmed as durable.
fn lose(node: &mut Node, lost: impl FnOnce(&mut Batch)) {
    let mut batch = Batch::new();
    lost(&mut batch);
    let disk = Arc::clone(&node.store().disks()[0]);
    disk.db.write(batch, Durability::Sync).unwrap();
    drop(disk);
    node.stop();
    node.open();
}

fn all_rows(batch: &mut Batch) {
    for table in tables::PER_CONTAINER {
        batch.delete_range(table, tables::prefix(CONTAINER), tables::prefix_end(CONTAINER));
    }
}

#[test]
fn a_closed_container_whose_rows_are_gone_is_unhealthy_from_the_start() {
    let mut node = Node::new();
    node.put_large(1, &[pattern(1, 300_000)]);
    node.close();
    lose(&mut node, all_rows);
    assert_eq!(node.container().state(), ContainerState::Unhealthy);
    assert_eq!(node.store().take_changed().len(), 1);
}

/// No log gives its blocks an index, so that the rows alone tell.
#[tokio::test]
async fn a_closed_erasure_coded_replica_whose_rows_are_gone_is_unhealthy_from_the_start() {
    let mut node = scan_found::striped();
    scan_found::put_striped(&node, 3, &[pattern(1, 100_000)]).await;
    node.store().close(CONTAINER, None).unwrap();
    assert_eq!((node.container().info().bcsid, node.container().info().blocks), (0, 1));
    lose(&mut node, all_rows);
    assert_eq!(node.container().state(), ContainerState::Unhealthy);
}

#[test]
fn a_closed_container_whose_rows_are_older_than_its_end_is_unhealthy_from_the_start() {
    for (name, is_damage) in
        [(tables::BCSID, true), (tables::DELETE_TX, true), (tables::BYTES_USED, false)]
    {
        let mut node = Node::new();
        node.put_small(1, pattern(1, 3000));
        node.put_small(2, pattern(2, 3000));
        node.delete(7, &[1]);
        node.close();
        lose(&mut node, |batch| {
            let key = tables::metadata_key(CONTAINER, name);
            batch.put(tables::METADATA, key, 1u64.to_be_bytes());
        });
        let expected = if is_damage { ContainerState::Unhealthy } else { ContainerState::Closed };
        assert_eq!(node.container().state(), expected, "{name}");
    }
}

#[test]
fn a_closed_container_that_never_had_a_row_or_whose_blocks_were_all_deleted_is_sound() {
    let mut node = Node::new();
    node.ensure_container();
    let block = block_data(1, &[pattern(1, 300_000)]);
    block_on(node.store().write_chunk(id(1), &block.chunks[0], pattern(1, 300_000))).unwrap();
    node.close();
    node.stop();
    node.open();
    assert_eq!(node.container().state(), ContainerState::Closed);

    let mut node = Node::new();
    node.put_large(1, &[pattern(1, 300_000)]);
    node.close();
    node.delete(1, &[1]);
    node.store().reclaim(1000).unwrap();
    assert_eq!(node.container().info().blocks, 0);
    node.stop();
    node.open();
    assert_eq!(node.container().state(), ContainerState::Closed);
    assert!(node.store().take_changed().is_empty());
}
