//! State after a stop, a kill, and a kill in the middle of a write.

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
fn a_disk_whose_database_is_gone_is_refused_and_its_containers_are_not_taken_for_empty() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 5000));
    node.pipe().flush().unwrap();
    node.stop();
    let cluster = node.disk_dir().join("hdds/CID-test");
    let of_cluster = std::fs::read_dir(&cluster).unwrap().map(|entry| entry.unwrap().path());
    let database = of_cluster.map(|path| path.join("container.db")).find(|path| path.exists());
    std::fs::remove_dir_all(database.unwrap()).unwrap();
    let refused = ContainerStore::open_on(node.options.clone(), None).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("is missing"), "{refused}");
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
    assert!(!node.store().has_block(id(3)), "a snapshot's copy of it is wanted");
    let before = node.container().info();
    node.replay();
    for local in 1..=5 {
        assert_eq!(node.read(local).unwrap(), pattern(local, 3000));
        assert!(node.store().has_block(id(local)));
    }
    assert_eq!(node.container().info(), before, "replay counts nothing twice");
    node.pipe().flush().unwrap();
    node.kill();
    node.open();
    assert_eq!(node.pipe().durable().index, 5);
    assert_eq!(node.read(5).unwrap(), pattern(5, 3000));
}

#[test]
fn a_torn_tail_is_written_again() {
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
    assert_eq!(node.container().state(), ContainerState::Open);
    assert_eq!(node.read(1).unwrap(), pattern(1, 3000));
    node.replay();
    node.put_small(4, pattern(4, 3000));
    for local in 1..=4 {
        assert_eq!(node.read(local).unwrap(), pattern(local, 3000));
    }
}

/// A disk that fails once and works from then on has failed all the same: its log is kept.
fn fails_for_good(op: blockio::Op, path: &str) {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    node.faults.once(op, path, blockio::Strike::Eio);
    assert!(node.pipe().flush().is_err());
    for _ in 0..3 {
        assert!(node.pipe().flush().is_err(), "what the disk says now says nothing of then");
        assert_eq!(node.pipe().durable().index, 0, "the log must be kept");
    }
    assert!(node.store().disks()[0].failure().is_some());
    node.kill();
    node.open();
    assert_eq!(node.pipe().durable().index, 0);
    node.replay();
    assert_eq!(node.read(1).unwrap(), pattern(1, 3000));
    assert_eq!(node.pipe().flush().unwrap().index, 1);
}

#[test]
fn a_flush_whose_write_failed_is_never_repeated() {
    fails_for_good(blockio::Op::Write, "segment");
}

#[test]
fn a_flush_whose_sync_failed_is_never_repeated() {
    fails_for_good(blockio::Op::Sync, "segment");
}

#[test]
fn a_flush_that_finds_no_room_loses_nothing_and_can_be_repeated() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    node.faults.once(blockio::Op::Write, "segment", blockio::Strike::NoSpace);
    assert!(node.pipe().flush().is_err());
    assert_eq!(node.pipe().durable().index, 0, "the log must be kept");
    assert_eq!(node.read(1).unwrap(), pattern(1, 3000));
    assert_eq!(node.pipe().flush().unwrap().index, 1);
    node.kill();
    node.open();
    assert_eq!(node.read(1).unwrap(), pattern(1, 3000));
}

#[test]
fn a_failed_sync_that_nobody_waited_for_keeps_the_log() {
    // Every small block is written at once, and synced while no caller waits.
    let mut node = Node::with(|options| options.pending_bytes = 1);
    node.faults.once(blockio::Op::Sync, "segment", blockio::Strike::Eio);
    node.put_small(1, pattern(1, 3000));
    assert!(node.pipe().flush().is_err());
    assert_eq!(node.pipe().durable().index, 0, "the log must be kept");
    node.kill();
    node.open();
    node.replay();
    assert_eq!(node.read(1).unwrap(), pattern(1, 3000));
}

#[test]
fn a_failed_sync_of_one_pipeline_keeps_the_log_of_every_other_on_the_disk() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    let store = node.store().clone();
    let other = store.open_pipeline(types::PipelineId::random(), &store.disks()[0]).unwrap();
    node.faults.once(blockio::Op::Sync, "segment", blockio::Strike::Eio);
    assert!(other.flush().is_err());
    assert!(node.pipe().flush().is_err());
    assert_eq!(node.pipe().durable().index, 0, "the log must be kept");
}

#[test]
fn a_database_whose_flush_failed_keeps_the_log() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    let database = node.store().disks()[0].database().path().display().to_string();
    let failing = testkit::fail_syncs(&database, 1);
    assert!(node.pipe().flush().is_err());
    assert_eq!(failing.struck(), 1);
    for _ in 0..2 {
        assert!(node.pipe().flush().is_err());
        assert_eq!(node.pipe().durable().index, 0, "the log must be kept");
    }
    assert!(node.store().disks()[0].failure().is_some());
}

#[test]
fn a_container_file_whose_sync_failed_fails_the_disk() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    node.faults.once(blockio::Op::Sync, "container.tmp", blockio::Strike::Eio);
    assert!(node.store().mark_closing(CONTAINER).is_err());
    assert!(node.store().disks()[0].failure().is_some());
    assert!(node.store().quasi_close(CONTAINER).is_err());
    assert_eq!(node.container().state(), ContainerState::Open);
}

#[test]
fn replicas_of_a_failed_disk_are_given_up_and_none_is_made_in_their_place() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    node.faults.once(blockio::Op::Sync, "segment", blockio::Strike::Eio);
    assert!(node.pipe().flush().is_err());
    let disk = node.store().disks()[0].clone();
    assert_eq!(node.pipe().containers(), [CONTAINER]);
    assert_eq!(node.store().leave(&disk), [CONTAINER]);
    assert_eq!(node.pipe().containers(), []);
    assert_eq!(node.store().report(), []);
    assert_eq!(node.read(1).unwrap_err().result(), ResultCode::ContainerMissing);
    let new = NewContainer { id: CONTAINER, ..NewContainer::default() };
    assert!(matches!(node.store().create_container(new), Err(StorageError::ContainerMissing(_))));
    let reports = node.store().storage_reports();
    assert_eq!((reports[0].failed, reports[0].capacity), (Some(true), Some(0)));
    assert!(node.store().choose_disk(&types::StorageType::ANY, 0).is_err());
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

#[test]
fn a_kill_in_the_middle_of_replay_loses_no_record_behind_a_dead_one() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 3000));
    node.put_small(2, pattern(2, 3000));
    // The first record of this block is dead from here on: replay does not write it again.
    node.put_small(2, pattern(22, 3000));
    node.put_small(3, pattern(3, 3000));
    // RocksDB writes its rows when it closes; the segment never got its bytes.
    node.stop();
    node.open();
    apply_from(&node.pipe(), 1, &node.log[..3]).into_iter().for_each(|done| _ = done.unwrap());
    node.pipe().flush().unwrap();
    node.kill();
    node.open();
    node.replay();
    for (local, seed) in [(1, 1), (2, 22), (3, 3)] {
        assert_eq!(node.read(local).unwrap(), pattern(seed, 3000));
    }
    assert_eq!(node.pipe().flush().unwrap().index, 4, "replay is over");
    node.kill();
    node.open();
    for (local, seed) in [(1, 1), (2, 22), (3, 3)] {
        assert_eq!(node.read(local).unwrap(), pattern(seed, 3000));
    }
}

/// Its blocks come in no order: until all are here, a later one says nothing of those before it.
#[test]
fn a_replica_that_catches_up_has_come_no_farther_before_it_has_all() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 100));
    let pipe = node.pipe();
    let put = |local: u64, index| {
        let mut batch = pipe.begin_catch_up();
        let (block, data) = (block_data(local, &[pattern(local, 100)]), pattern(local, 100));
        let at = Position { term: 1, index };
        batch.put_small_file(at, &block, &block.chunks[0], data).unwrap();
        batch.commit().unwrap();
    };
    let earlier = BlockId { bcsid: 5, ..id(3) };
    put(2, 9);
    assert_eq!(node.container().info().bcsid, 1);
    assert!(!node.store().knows_deleted(earlier).unwrap(), "it is still to come");
    assert!(node.store().has_block(BlockId { bcsid: 9, ..id(2) }), "it does not come again");
    put(3, 5);
    let mut batch = pipe.begin();
    batch.reach(CONTAINER, 9).unwrap();
    batch.advance(Position { term: 1, index: 9 });
    batch.commit().unwrap();
    assert_eq!(node.container().info().bcsid, 9);
    assert_eq!(node.read(2).unwrap(), pattern(2, 100));
}
