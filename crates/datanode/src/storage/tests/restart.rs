//! What is left after a stop, a kill, a kill in the middle of a write.

use std::os::unix::fs::FileExt;

use container::ContainerState;
use proto::datanode::Result as ResultCode;

use super::*;

#[test]
fn what_was_flushed_needs_no_replay() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 5000));
    node.put_large(2, &[pattern(2, 300_000)]);
    assert_eq!(node.pipe().durable().index, 0);
    assert_eq!(node.pipe().flush().unwrap(), Position { term: 1, index: 2 });
    node.kill();
    node.open();
    assert_eq!(node.pipe().durable(), Position { term: 1, index: 2 });
    assert_eq!(node.read(1).unwrap(), pattern(1, 5000));
    assert_eq!(node.read(2).unwrap(), pattern(2, 300_000));
    let info = node.container().info();
    assert_eq!((info.used, info.blocks, info.bcsid), (305_000, 2, 2));
}

#[test]
fn what_was_not_flushed_comes_back_by_replay_after_a_kill() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 5000));
    node.pipe().flush().unwrap();
    node.put_small(2, pattern(2, 6000));
    node.put_large(3, &[pattern(3, 300_000)]);
    node.kill();
    node.open();
    assert_eq!(node.pipe().durable().index, 1);
    assert_eq!(node.read(2).unwrap_err().result(), ResultCode::NoSuchBlock);
    node.replay();
    for (local, len) in [(1, 5000), (2, 6000), (3, 300_000)] {
        assert_eq!(node.read(local).unwrap(), pattern(local, len));
    }
    let info = node.container().info();
    assert_eq!((info.used, info.blocks, info.bcsid), (311_000, 3, 3));
}

#[test]
fn rows_without_bytes_are_not_served_until_replay_has_put_the_bytes_back() {
    let mut node = Node::new();
    for local in 1..=5 {
        node.put_small(local, pattern(local, 3000));
    }
    // RocksDB writes its rows when it closes; the segment never got its bytes.
    node.stop();
    node.open();
    assert_eq!(node.pipe().durable().index, 0);
    let early = node.read(3).unwrap_err();
    assert!(matches!(early, StorageError::Recovering(_)), "{early}");
    assert_eq!(early.result(), ResultCode::UnknownBcsid);
    let before = node.container().info();
    node.replay();
    for local in 1..=5 {
        assert_eq!(node.read(local).unwrap(), pattern(local, 3000));
    }
    assert_eq!(node.container().info(), before, "replay counts nothing twice");
    node.pipe().flush().unwrap();
    node.kill();
    node.open();
    assert_eq!(node.pipe().durable().index, 5);
    assert_eq!(node.read(5).unwrap(), pattern(5, 3000));
}

#[test]
fn a_torn_tail_is_cut_and_written_again() {
    let mut node = Node::with(|options| options.pending_bytes = 1);
    node.put_small(1, pattern(1, 3000));
    node.pipe().flush().unwrap();
    node.put_small(2, pattern(2, 3000));
    node.put_small(3, pattern(3, 3000));
    let path = node.chunks_dir().join("00000001.segment");
    node.stop();
    // The last record lacks its end, the one before has a damaged byte.
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let len = file.metadata().unwrap().len();
    file.set_len(len - 1000).unwrap();
    file.write_all_at(&[0xff; 3], 64 + 3032 + 500).unwrap();
    node.open();
    assert_eq!(fs::metadata(&path).unwrap().len(), 64 + 3032);
    assert_eq!(node.container().state(), ContainerState::Open);
    assert_eq!(node.read(1).unwrap(), pattern(1, 3000));
    node.replay();
    node.put_small(4, pattern(4, 3000));
    for local in 1..=4 {
        assert_eq!(node.read(local).unwrap(), pattern(local, 3000));
    }
}

#[test]
fn a_flush_that_fails_loses_nothing_and_can_be_repeated() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    for (op, name) in [(blockio::Op::Write, "segment"), (blockio::Op::Sync, "segment")] {
        node.faults.once(op, name, blockio::Strike::Eio);
        assert!(node.pipe().flush().is_err());
        assert_eq!(node.pipe().durable().index, 0, "the log must be kept");
        assert_eq!(node.read(1).unwrap(), pattern(1, 3000));
    }
    assert_eq!(node.pipe().flush().unwrap().index, 1);
    node.kill();
    node.open();
    assert_eq!(node.read(1).unwrap(), pattern(1, 3000));
}

#[test]
fn a_closed_container_stays_closed_with_all_its_blocks() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    node.apply(vec![Entry::Small(types::LocalId(2), pattern(2, 100)), Entry::Close]);
    node.kill();
    node.open();
    assert_eq!(node.container().state(), ContainerState::Closed);
    // Closing flushed: nothing has to be put into a container that takes no writes.
    assert!(node.pipe().durable().index >= 2);
    node.replay();
    assert_eq!(node.read(1).unwrap(), pattern(1, 3000));
    assert_eq!(node.read(2).unwrap(), pattern(2, 100));
}

#[test]
fn a_deleted_container_does_not_come_back_by_replay() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    let refused = node.store().delete_container(CONTAINER, false).unwrap_err();
    assert_eq!(refused.result(), ResultCode::DeleteOnOpenContainer);
    node.store().close(CONTAINER, None).unwrap();
    let refused = node.store().delete_container(CONTAINER, false).unwrap_err();
    assert_eq!(refused.result(), ResultCode::DeleteOnNonEmptyContainer);
    node.store().delete_container(CONTAINER, true).unwrap();
    node.kill();
    node.open();
    node.replay();
    assert_eq!(node.store().containers(), []);
    assert_eq!(node.read(1).unwrap_err().result(), ResultCode::ContainerNotFound);
}

#[test]
fn a_pipeline_restored_from_a_snapshot_distrusts_its_open_containers() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    let at = Position { term: 3, index: 900 };
    node.pipe().restore(at).unwrap();
    assert_eq!(node.container().state(), ContainerState::Unhealthy);
    node.kill();
    node.open();
    assert_eq!(node.pipe().durable(), at);
    assert_eq!(node.container().state(), ContainerState::Unhealthy);
}
