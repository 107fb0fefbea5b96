//! Blocks that were deleted before the log was done with them leave nothing.

use container::ContainerState;
use proto::datanode::Result as ResultCode;

use super::deletion::apply_around;
use super::*;

/// Checks that block 2 does not exist, in addition to block 1 of 100 bytes.
fn check_gone(node: &Node) {
    let info = node.container().info();
    assert_eq!(info.state, ContainerState::Open);
    assert_eq!(node.read(2).map(|read| read.len()).unwrap_err().result(), ResultCode::NoSuchBlock);
    assert!(!node.chunks_dir().join("2.block").exists());
    assert_eq!((info.blocks, info.used), (1, 100));
}

fn large() -> Entry {
    Entry::Put(block_data(2, &[pattern(2, 300_000)]))
}

fn small(len: usize) -> Entry {
    Entry::Small(LocalId(2), pattern(2, len))
}

#[test]
fn entries_of_a_block_that_come_after_its_deletion_leave_nothing() {
    // The second entry has no more than the first one, as when a client repeats it.
    for second in [large(), small(400_000)] {
        for kill in [false, true] {
            let mut node = Node::new();
            node.put_small(1, pattern(1, 100));
            node.put_large(2, &[pattern(2, 300_000)]);
            node.delete(1, &[2]);
            assert_eq!(node.store().reclaim(10).unwrap().blocks, 1);
            if kill {
                node.kill();
                node.open();
                node.replay();
            }
            node.apply(vec![second.clone()]).pop().unwrap().unwrap();
            check_gone(&node);
            node.kill();
            node.open();
            node.replay();
            check_gone(&node);
        }
    }
}

#[test]
fn a_deletion_that_ends_while_a_later_entry_is_applied_holds_after_a_kill() {
    for (entry, is_large) in [(large(), true), (small(5_000), false)] {
        let mut node = Node::new();
        node.put_small(1, pattern(1, 100));
        match is_large {
            true => _ = node.put_large(2, &[pattern(2, 300_000)]),
            false => _ = node.put_small(2, pattern(2, 5_000)),
        }
        let (pipe, at) = (node.pipe(), Position { term: 1, index: 3 });
        node.log.push(entry.clone());
        {
            let mut batch = pipe.begin();
            let put = match &entry {
                Entry::Put(block) => batch.put_block(at, block),
                Entry::Small(_, data) => {
                    let block = block_data(2, std::slice::from_ref(data));
                    batch.put_small_file(at, &block, &block.chunks[0], data.clone())
                }
                Entry::Close => unreachable!(),
            };
            put.unwrap();
            node.delete(1, &[2]);
            assert_eq!(node.store().reclaim(10).unwrap().blocks, 1);
            // The transaction has ended, and the node dies before the entry is in the tables.
            node.pipe().flush().unwrap();
        }
        drop(pipe);
        node.kill();
        node.open();
        node.replay();
        assert_eq!(node.container().info().pending_delete, 0);
        check_gone(&node);
    }
}

#[test]
fn a_block_that_is_deleted_before_a_round_comes_to_it_leaves_nothing() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 100));
    node.put_large(2, &[pattern(2, 300_000)]);
    let pipe = node.pipe();
    let mut batch = pipe.begin_catch_up();
    let at = |index| Position { term: 1, index };
    let first = block_data(1, &[pattern(1, 100)]);
    batch.put_small_file(at(3), &first, &first.chunks[0], pattern(1, 100)).unwrap();
    node.delete(1, &[2]);
    assert_eq!(node.store().reclaim(10).unwrap().blocks, 1);
    // As when the round fetched the bytes from another member.
    let block = block_data(2, &[pattern(2, 300_000)]);
    block_on(node.store().write_chunk(id(2), &block.chunks[0], pattern(2, 300_000))).unwrap();
    batch.put_block(at(4), &block).unwrap();
    batch.commit().unwrap();
    check_gone(&node);
}

#[test]
fn notes_of_deleted_blocks_end_with_the_containers_writes() {
    let noted = |node: &Node| {
        let container = node.container();
        let range = metastore::IterRange::prefix(tables::prefix(container.id()));
        let mut cursor = container.disk().db.iter(tables::DELETED_EARLY, range).unwrap();
        cursor.first();
        (container.deleted_early(LocalId(2)).is_some(), cursor.row().unwrap().is_some())
    };
    for quasi in [false, true] {
        let mut node = Node::new();
        node.put_small(1, pattern(1, 100));
        node.put_small(2, pattern(2, 100));
        node.delete(1, &[2]);
        node.store().reclaim(10).unwrap();
        assert_eq!(noted(&node), (true, true));
        match quasi {
            true => node.store().quasi_close(CONTAINER).unwrap(),
            false => node.close(),
        }
        assert_eq!(noted(&node), (false, false));
        // Those that a crash brings back go when the container is loaded.
        let mut batch = metastore::Batch::new();
        let row = containers::DeletedBeforeWrite::All.encode();
        batch.put(tables::DELETED_EARLY, tables::block_key(CONTAINER, LocalId(2)), row);
        node.container().disk().db.write(batch, metastore::Durability::NoWal).unwrap();
        node.pipe().flush().unwrap();
        for _ in 0..2 {
            node.stop();
            node.open();
            assert_eq!(noted(&node), (false, false), "{quasi}");
        }
    }
}

#[test]
fn a_later_note_that_comes_while_an_entry_is_applied_outlives_it() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 100));
    let note = |node: &Node, bcsid| node.store().note_deleted(BlockId { bcsid, ..id(2) }).unwrap();
    note(&node, 2);
    // The next entry is confirmed while this one is applied.
    apply_around(&mut node, large(), |node| note(node, 3));
    for _ in 0..2 {
        assert!(node.container().deleted_early(LocalId(2)).is_some());
        node.kill();
        node.open();
        node.replay();
    }
    node.apply(vec![large()]).pop().unwrap().unwrap();
    check_gone(&node);
    assert!(node.container().deleted_early(LocalId(2)).is_none(), "that is over now");
}

#[test]
fn a_file_that_goes_before_it_is_synced_holds_up_no_flush() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 100));
    node.put_large(2, &[pattern(2, 5_000)]);
    apply_around(&mut node, small(5_000), |node| {
        node.delete(1, &[2]);
        assert_eq!(node.store().reclaim_beside_clients(10, 1.0).unwrap().blocks, 1);
    });
    assert!(node.container().segments.lock().files.is_empty());
    check_gone(&node);
    for _ in 0..2 {
        assert_eq!(node.pipe().flush().unwrap().index, 3);
    }
    // As when a flush has taken it already.
    node.container().needs_sync(LocalId(2));
    node.pipe().flush().unwrap();
    // Nothing is taken for done of a block that is there.
    node.put_large(3, &[pattern(3, 5_000)]);
    node.container().needs_sync(LocalId(3));
    block_on(node.container().disk().io.unlink(vec![node.chunks_dir().join("3.block")])).unwrap();
    node.pipe().flush().unwrap_err();
}

#[test]
fn a_block_that_is_deleted_while_it_is_finalized_leaves_nothing() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 100));
    node.put_large(2, &[pattern(2, 5_000)]);
    let pipe = node.pipe();
    let mut batch = pipe.begin();
    let data = batch.finalize_block(Position { term: 1, index: 3 }, id(2)).unwrap();
    assert_eq!(data.chunks.len(), 1);
    node.delete(1, &[2]);
    assert_eq!(node.store().reclaim(10).unwrap().blocks, 1);
    batch.commit().unwrap();
    check_gone(&node);
}

/// A client flushed it and wrote on. It was deleted before the bytes of the next entry came here.
#[test]
fn a_block_stays_whole_until_its_deletion_comes_when_a_later_entry_leaves_nothing() {
    let first = block_data(2, &[pattern(2, 300_000)]);
    let longer = block_data(2, &[pattern(2, 300_000), pattern(3, 1_000)]);
    for in_one_round in [false, true] {
        let mut node = Node::new();
        node.put_small(1, pattern(1, 100));
        block_on(node.store().write_chunk(id(2), &first.chunks[0], pattern(2, 300_000))).unwrap();
        block_on(node.store().sync_block(id(2))).unwrap();
        let pipe = node.pipe();
        let mut batch = pipe.begin();
        let at = |index| Position { term: 1, index };
        batch.put_block(at(2), &first).unwrap();
        if !in_one_round {
            batch.commit().unwrap();
            batch = pipe.begin();
        }
        node.store().note_deleted(BlockId { bcsid: 3, ..id(2) }).unwrap();
        batch.put_block(at(3), &longer).unwrap();
        batch.commit().unwrap();
        drop(pipe);
        node.log.extend([Entry::Put(first.clone()), Entry::Put(longer.clone())]);
        assert_eq!(node.container().info().bcsid, 3);
        assert!(node.container().deleted_early(LocalId(2)).is_none(), "that is over now");
        for _ in 0..2 {
            assert_eq!(node.container().info().state, ContainerState::Open, "{in_one_round}");
            assert_eq!(node.read(2).unwrap(), pattern(2, 300_000), "as its first entry left it");
            node.pipe().flush().unwrap();
            node.kill();
            node.open();
            node.replay();
        }
        node.delete(1, &[2]);
        assert_eq!(node.store().reclaim(10).unwrap().blocks, 1);
        check_gone(&node);
    }
}

/// While clients write, deletions are durable only with the next flush.
#[test]
fn bytes_of_an_entry_that_leaves_nothing_stay_until_the_deletion_is_durable() {
    let reclaim = |node: &Node| {
        node.delete(1, &[2]);
        node.store().reclaim_beside_clients(10, 1.0).unwrap();
    };
    let write = |node: &Node| {
        let chunk = &block_data(2, &[pattern(2, 300_000)]).chunks[0];
        block_on(node.store().write_chunk(id(2), chunk, pattern(2, 300_000))).unwrap();
        block_on(node.store().sync_block(id(2))).unwrap();
    };
    let cases: [fn(&mut Node, &dyn Fn(&Node)); 3] = [
        // It had a row, which was durable.
        |node, reclaim| {
            node.put_large(2, &[pattern(2, 300_000)]);
            node.pipe().flush().unwrap();
            reclaim(node);
            node.apply(vec![large()]).pop().unwrap().unwrap();
        },
        // It had none.
        |node, reclaim| {
            node.pipe().flush().unwrap();
            reclaim(node);
            node.apply(vec![large()]).pop().unwrap().unwrap();
        },
        // The round had looked for it by then.
        |node, reclaim| {
            node.put_large(2, &[pattern(2, 300_000)]);
            node.pipe().flush().unwrap();
            apply_around(node, large(), |node| reclaim(node));
        },
    ];
    for (case, act) in cases.into_iter().enumerate() {
        let mut node = Node::new();
        node.put_small(1, pattern(1, 100));
        write(&node);
        act(&mut node, &reclaim);
        check_gone(&node);
        node.kill();
        node.open();
        assert_eq!(node.container().info().state, ContainerState::Open, "{case}");
        node.replay();
        node.store().reclaim(10).unwrap();
        check_gone(&node);
    }
}

/// All but the new chunks of an incremental list were deleted with the block.
#[test]
fn what_was_added_to_a_block_after_its_deletion_leaves_nothing_and_is_counted() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 100));
    node.put_large(2, &[pattern(2, 300_000)]);
    node.delete(1, &[2]);
    assert_eq!(node.store().reclaim(10).unwrap().blocks, 1);
    let mut added = block_data(2, &[pattern(2, 300_000), pattern(3, 1_000)]);
    added.chunks.remove(0);
    added.metadata.push(KeyValue { key: "incremental".into(), value: None });
    let committed = node.apply(vec![Entry::Put(added)]).pop().unwrap().unwrap();
    assert_eq!((committed.block.bcsid, committed.length), (3, 301_000));
    check_gone(&node);
    assert_eq!(node.container().info().bcsid, 3, "as that of a replica that had it before");
}

#[test]
fn a_container_that_takes_no_writes_gets_no_notes_of_deleted_blocks() {
    for end in [
        |node: &mut Node| node.close(),
        |node: &mut Node| node.store().quasi_close(CONTAINER).unwrap(),
        |node: &mut Node| node.store().mark_unhealthy(CONTAINER, "for a test").unwrap(),
    ] {
        let mut node = Node::new();
        node.put_small(1, pattern(1, 100));
        end(&mut node);
        let refused = node.store().note_deleted(BlockId { bcsid: 9, ..id(2) }).unwrap_err();
        assert!(matches!(refused, StorageError::NotWritable { .. }), "{refused}");
        assert!(node.container().deleted_early(LocalId(2)).is_none());
    }
}

#[test]
fn a_container_with_many_notes_of_deleted_blocks_is_to_be_closed() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 100));
    node.put_small(2, pattern(2, 100));
    let others = (1_000..).map(LocalId).take(Container::MOST_NOTES - 1);
    node.container().note_deleted_early(others, containers::DeletedBeforeWrite::All);
    assert_eq!(node.store().take_full(), []);
    node.delete(1, &[2]);
    node.store().reclaim(10).unwrap();
    assert_eq!(node.store().take_full(), [CONTAINER]);
    assert!(node.container().has_many_notes(), "its node says so until it is closed");
    node.close();
    assert!(!node.container().has_many_notes());
}
