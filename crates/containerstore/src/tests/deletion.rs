//! Deleted blocks are removed, and their space is freed.

use std::time::Duration;

use blockio::{Op, Strike};
use proto::datanode::Result as ResultCode;

use super::*;

#[test]
fn the_space_of_deleted_small_blocks_comes_back() {
    let mut node = Node::new();
    let locals: Vec<u64> = (1..=100).collect();
    for local in &locals {
        node.put_small(*local, pattern(*local, 10_000));
    }
    node.pipe().flush().unwrap();
    let full = node.space_used();
    assert!(full >= 1_000_000);
    // Neighbours are punched out together.
    node.delete(1, &locals[20..80]);
    let done = node.store().reclaim(1000).unwrap();
    assert_eq!((done.blocks, done.bytes, done.more), (60, 600_000, false));
    let less = node.space_used();
    assert!(full - less >= 590_000, "{full} → {less}");
    for local in locals[..20].iter().chain(&locals[80..]) {
        assert_eq!(node.read(*local).unwrap(), pattern(*local, 10_000));
    }
    assert_eq!(node.read(50).unwrap_err().result(), ResultCode::NoSuchBlock);
    node.delete(2, &[&locals[..20], &locals[80..]].concat());
    let done = node.store().reclaim(1000).unwrap();
    assert_eq!((done.blocks, done.dropped), (40, 1));
    assert_eq!(node.space_used(), 0);
    let info = node.container().info();
    assert_eq!((info.used, info.blocks, info.pending_delete, info.delete_tx), (0, 0, 0, 2));
    // It continues in a new segment.
    node.put_small(200, pattern(200, 1000));
    assert_eq!(node.read(200).unwrap(), pattern(200, 1000));
}

#[test]
fn beside_clients_space_waits_for_a_flush_that_comes_anyway() {
    let mut node = Node::new();
    let locals: Vec<u64> = (1..=100).collect();
    for local in &locals {
        node.put_small(*local, pattern(*local, 10_000));
    }
    node.pipe().flush().unwrap();
    let full = node.space_used();
    for (tx, some) in (1..).zip(locals[..60].chunks(20)) {
        node.delete(tx, some);
    }
    // Rows are deleted in batches, each transaction once, and nothing else is.
    for expected in [(20, true), (20, true), (20, false), (0, false)] {
        let done = node.store().reclaim_beside_clients(20, 1.0).unwrap();
        assert_eq!((done.blocks, done.more), expected);
    }
    assert_eq!(node.read(5).unwrap_err().result(), ResultCode::NoSuchBlock);
    assert_eq!((node.space_used(), node.container().info().pending_delete), (full, 60));
    // Deletions after a flush wait for the next one, with the rest.
    node.pipe().flush().unwrap();
    for left in [true, true, true] {
        let done = node.store().reclaim_beside_clients(20, 1.0).unwrap();
        assert_eq!((done.blocks, done.more), (0, left));
    }
    let info = node.container().info();
    assert_eq!((info.pending_delete, info.blocks), (0, 40));
    // Neighbours of two batches are punched out one by one.
    assert!(full - node.space_used() >= 580_000, "{full} → {}", node.space_used());
    for local in &locals[60..] {
        assert_eq!(node.read(*local).unwrap(), pattern(*local, 10_000));
    }
    // Without clients the rest is freed at once, also the waiting blocks.
    node.delete(4, &locals[60..80]);
    assert_eq!(node.store().reclaim_beside_clients(100, 1.0).unwrap().blocks, 20);
    node.delete(5, &locals[80..]);
    let done = node.store().reclaim(100).unwrap();
    assert_eq!((done.blocks, done.dropped, done.more), (20, 1, false));
    assert_eq!((node.space_used(), node.container().info().pending_delete), (0, 0));
}

#[test]
fn rows_that_went_beside_clients_are_back_after_a_crash_and_go_again() {
    let mut node = Node::new();
    for local in 1..=10 {
        node.put_small(local, pattern(local, 10_000));
    }
    node.pipe().flush().unwrap();
    node.delete(1, &[1, 2, 3]);
    // However often it looks, nothing is freed before a flush.
    for blocks in [3, 0] {
        assert_eq!(node.store().reclaim_beside_clients(100, 1.0).unwrap().blocks, blocks);
    }
    node.kill();
    node.open();
    node.replay();
    assert_eq!(node.container().info().pending_delete, 3);
    assert_eq!(node.read(1).unwrap(), pattern(1, 10_000), "its bytes were not touched");
    assert_eq!(node.store().reclaim(100).unwrap().blocks, 3);
    let info = node.container().info();
    assert_eq!((info.blocks, info.pending_delete), (7, 0));
}

#[test]
fn a_large_transaction_goes_in_parts_and_ends_with_its_last_one() {
    for beside in [false, true] {
        let mut node = Node::new();
        for local in 1..=30 {
            node.put_small(local, pattern(local, 10_000));
        }
        node.close();
        node.delete(1, &(1..=25).collect::<Vec<_>>());
        node.delete(2, &[26]);
        let reclaim = |node: &Node| match beside {
            true => node.store().reclaim_beside_clients(10, 1.0).unwrap(),
            false => node.store().reclaim(10).unwrap(),
        };
        for (blocks, more, pending) in [(10, true, 26), (10, true, 26), (6, false, 0)] {
            let done = reclaim(&node);
            assert_eq!((done.blocks, done.more), (blocks, more), "beside clients: {beside}");
            let pending = if beside { 26 } else { pending };
            assert_eq!(node.container().info().pending_delete, pending);
        }
        node.store().flush_all().unwrap();
        while reclaim(&node).more {}
        let info = node.container().info();
        assert_eq!((info.blocks, info.pending_delete), (4, 0));
    }
}

#[test]
fn a_transaction_that_was_done_in_part_is_done_again_after_a_crash() {
    let mut node = Node::new();
    for local in 1..=30 {
        node.put_small(local, pattern(local, 10_000));
    }
    node.pipe().flush().unwrap();
    node.delete(1, &(1..=25).collect::<Vec<_>>());
    assert_eq!(node.store().reclaim(10).unwrap().blocks, 10);
    assert_eq!(node.store().reclaim_beside_clients(10, 1.0).unwrap().blocks, 10);
    node.kill();
    node.open();
    node.replay();
    let before = node.space_used();
    while node.store().reclaim(10).unwrap().more {}
    let info = node.container().info();
    assert_eq!((info.blocks, info.pending_delete), (5, 0));
    assert_eq!(node.read(26).unwrap(), pattern(26, 10_000));
    let freed = before - node.space_used();
    assert!(freed >= 14 * 10_000, "{freed}");
}

/// Writes and commits a block of a container without a log, as clients of erasure-coded ones do.
async fn put_direct(node: &Node, local: u64, data: Bytes) {
    let new = NewContainer { id: CONTAINER, ..NewContainer::default() };
    node.store().create_container(new).unwrap();
    let block = block_data(local, std::slice::from_ref(&data));
    node.store().write_chunk(id(local), &block.chunks[0], data).await.unwrap();
    node.store().put_block_direct(&block).await.unwrap();
}

#[tokio::test]
async fn a_transaction_does_not_end_before_each_of_its_parts_is_freed() {
    let node = Node::new();
    for local in 1..=4 {
        put_direct(&node, local, pattern(local, 1 << 20)).await;
    }
    node.pipe().flush().unwrap();
    node.delete(1, &[1, 2, 3, 4]);
    for _ in 0..3 {
        assert_eq!(node.store().reclaim_beside_clients(1, 1.0).unwrap().blocks, 1);
    }
    // A block of the second part has a row again.
    put_direct(&node, 2, pattern(2, 1 << 20)).await;
    while node.store().reclaim(1).unwrap().more {}
    let info = node.container().info();
    assert_eq!((info.blocks, info.pending_delete, node.space_used()), (0, 0, 0));
}

#[test]
fn a_flush_that_fails_frees_nothing_of_what_waits_for_it() {
    let mut node = Node::new();
    for local in 1..=10 {
        node.put_small(local, pattern(local, 10_000));
    }
    node.pipe().flush().unwrap();
    node.delete(1, &[1, 2, 3]);
    assert_eq!(node.store().reclaim_beside_clients(100, 1.0).unwrap().blocks, 3);
    // A record that cannot be written keeps the flush from finishing.
    node.put_small(11, pattern(11, 10_000));
    node.faults.always(Op::Write, "segment", Strike::NoSpace);
    assert!(node.pipe().flush().is_err());
    assert_eq!(node.store().reclaim_beside_clients(100, 1.0).unwrap().blocks, 0);
    assert!(node.store().reclaim(100).is_err(), "it does not come to its flush");
    assert_eq!(node.container().info().pending_delete, 3);
    node.faults.clear();
    node.kill();
    node.open();
    node.replay();
    assert_eq!(node.read(1).unwrap(), pattern(1, 10_000), "its bytes were not touched");
    assert_eq!(node.store().reclaim(100).unwrap().blocks, 3);
    assert_eq!(node.container().info().pending_delete, 0);
}

#[test]
fn what_waited_beside_clients_is_freed_in_portions_when_they_have_left() {
    let mut node = Node::new();
    for local in 1..=40 {
        node.put_small(local, pattern(local, 10_000));
    }
    node.pipe().flush().unwrap();
    let full = node.space_used();
    for tx in 1..=4 {
        node.delete(tx, &(tx * 10 - 9..=tx * 10).map(|n| n as u64).collect::<Vec<_>>());
        assert_eq!(node.store().reclaim_beside_clients(10, 1.0).unwrap().blocks, 10);
    }
    assert_eq!(node.space_used(), full);
    for (more, pending) in [(true, 30), (true, 20), (true, 10), (false, 0)] {
        let done = node.store().reclaim(10).unwrap();
        assert_eq!((done.more, node.container().info().pending_delete), (more, pending));
    }
    assert_eq!(node.space_used(), 0);
}

#[tokio::test]
async fn a_block_that_came_back_meanwhile_keeps_its_bytes_until_its_row_goes_again() {
    let node = Node::new();
    put_direct(&node, 1, pattern(1, 1 << 20)).await;
    node.pipe().flush().unwrap();
    node.delete(1, &[1]);
    assert_eq!(node.store().reclaim_beside_clients(100, 1.0).unwrap().blocks, 1);
    put_direct(&node, 1, pattern(2, 1 << 20)).await;
    let done = node.store().reclaim(100).unwrap();
    assert_eq!((done.blocks, done.more), (0, true));
    assert_eq!(node.read(1).unwrap(), pattern(2, 1 << 20));
    assert_eq!(node.store().reclaim(100).unwrap().blocks, 1);
    assert_eq!((node.space_used(), node.container().info().pending_delete), (0, 0));
}

#[test]
fn nothing_is_freed_under_a_replica_that_was_removed_meanwhile() {
    let mut node = Node::new();
    for local in 1..=10 {
        node.put_small(local, pattern(local, 10_000));
    }
    node.close();
    node.delete(1, &[1, 2, 3]);
    assert_eq!(node.store().reclaim_beside_clients(100, 1.0).unwrap().blocks, 3);
    let id = node.container().id();
    node.store().delete_container(id, true).unwrap();
    node.pipe().flush().unwrap();
    assert!(node.store().reclaim_beside_clients(100, 1.0).unwrap().more);
    assert!(!node.store().reclaim_beside_clients(100, 1.0).unwrap().more);
}

#[test]
fn the_space_of_deleted_large_blocks_comes_back() {
    let mut node = Node::new();
    node.put_large(1, &[pattern(1, 3 << 20)]);
    node.put_large(2, &[pattern(2, 1 << 20)]);
    let before = node.space_used();
    node.delete(1, &[1]);
    assert_eq!(node.store().reclaim(10).unwrap().bytes, 3 << 20);
    assert!(before - node.space_used() >= 3 << 20);
    assert_eq!(node.read(2).unwrap(), pattern(2, 1 << 20));
}

#[test]
fn a_closed_replica_tells_scm_how_many_blocks_are_left() {
    let mut node = Node::new();
    for local in 1..=3 {
        node.put_large(local, &[pattern(local, 1000)]);
    }
    let id = node.container().id();
    node.store().close(id, None).unwrap();
    node.store().take_changed();
    node.delete(1, &[2]);
    assert!(node.store().take_changed().is_empty(), "they are there until they are reclaimed");
    node.store().reclaim(10).unwrap();
    let told = node.store().take_changed();
    let told: Vec<_> = told.iter().map(|r| (r.container_id, r.key_count)).collect();
    assert_eq!(told, [(id.to_wire(), Some(2))]);
    node.store().reclaim(10).unwrap();
    assert!(node.store().take_changed().is_empty(), "nothing has changed since");
}

#[test]
fn rows_of_many_blocks_are_those_of_each() {
    let mut node = Node::new();
    let all = (1..=120).chain(995..=1010).chain([100_000, 100_001, u64::MAX >> 1]);
    for local in all.clone() {
        node.put_small(local, pattern(local, 10));
    }
    node.pipe().flush().unwrap();
    node.delete(1, &(30..60).chain([100, 102, 1000]).collect::<Vec<_>>());
    while node.store().reclaim(100).unwrap().more {}
    let container = node.container();
    let each = |locals: &[LocalId]| -> Vec<_> {
        let row = |local: &LocalId| container.block_row(*local).unwrap();
        locals.iter().map(row).map(|row| row.map(|row| row.into_wire())).collect()
    };
    let sets: [Vec<u64>; 8] = [
        (0..=125).collect(),
        (10..=90).collect(),
        // Keys of 1000 and more lie between these.
        (99..=130).step_by(3).collect(),
        (990..1020).collect(),
        (1..=9).collect(),
        (100..=119).rev().step_by(2).collect::<Vec<_>>().into_iter().rev().collect(),
        (200..300).collect(),
        all.collect(),
    ];
    for set in sets {
        let locals: Vec<LocalId> = set.into_iter().map(LocalId).collect();
        let many = container.block_rows(&locals).unwrap();
        let many: Vec<_> = many.into_iter().map(|row| row.map(|row| row.into_wire())).collect();
        assert_eq!(many, each(&locals), "{locals:?}");
    }
    assert!(container.block_rows(&[]).unwrap().is_empty());
}

#[test]
fn what_is_about_to_be_deleted_is_not_copied_before() {
    for share in [None, Some(1.0), Some(0.5)] {
        let mut node = Node::with(|options| options.segment_size = 100_000);
        for local in 1..=100 {
            node.put_small(local, pattern(local, 3000));
        }
        node.pipe().flush().unwrap();
        let (first, second): (Vec<u64>, Vec<u64>) =
            (1..=100).filter(|local| local % 5 != 0).partition(|local| local % 5 != 1);
        node.delete(1, &first);
        node.delete(2, &second);
        let reclaim = |blocks: u64| {
            let store = node.store();
            let done = match share {
                Some(share) => store.reclaim_beside_clients(60, share).unwrap(),
                None => store.reclaim(60).unwrap(),
            };
            assert_eq!(done.blocks, blocks, "{share:?}");
            done.compacted
        };
        assert_eq!(reclaim(60), 0, "{share:?}");
        let compacted = reclaim(20);
        node.store().flush_all().unwrap();
        let later: u64 = (0..3).map(|_| node.store().reclaim(60).unwrap().compacted).sum();
        assert!(compacted + later >= 2, "{share:?}: {compacted} and {later}");
        for local in (1..=100).filter(|local| local % 5 == 0) {
            assert_eq!(node.read(local).unwrap(), pattern(local, 3000));
        }
    }
}

#[test]
fn half_dead_segments_are_compacted_and_the_living_move() {
    let mut node = Node::with(|options| options.segment_size = 100_000);
    for local in 1..=100 {
        node.put_small(local, pattern(local, 3000));
    }
    node.pipe().flush().unwrap();
    // Scattered, so that holes alone bring back little.
    let dead: Vec<u64> = (1..=100).filter(|local| local % 5 != 0).collect();
    node.delete(1, &dead);
    let before = node.space_used();
    let done = node.store().reclaim(1000).unwrap();
    assert!(done.compacted >= 2 && done.dropped >= done.compacted, "{done:?}");
    assert!(node.space_used() < before / 2, "{before} → {}", node.space_used());
    let check = |node: &Node| {
        for local in (1..=100).filter(|local| local % 5 == 0) {
            assert_eq!(node.read(local).unwrap(), pattern(local, 3000));
        }
    };
    check(&node);
    node.kill();
    node.open();
    check(&node);
    node.replay();
    check(&node);
    assert_eq!(node.container().info().blocks, 20);
}

#[test]
fn records_that_move_are_never_only_in_memory() {
    let mut node = Node::with(|options| options.segment_size = 100_000);
    for local in 1..=40 {
        node.put_small(local, pattern(local, 3000));
    }
    // The log may be trimmed from here on.
    assert_eq!(node.pipe().flush().unwrap().index, 40);
    move_out_of(&node.container(), 1, 100_000).unwrap();
    // RocksDB writes the rows, which it may do at any time, and nothing else is written.
    node.stop();
    node.open();
    node.replay();
    assert_eq!(live_in(&node.container(), 1), [], "they have moved");
    for local in 1..=40 {
        assert_eq!(node.read(local).unwrap(), pattern(local, 3000));
    }
}

#[test]
fn a_taken_transaction_survives_a_kill_and_is_carried_out_later() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 5000));
    node.pipe().flush().unwrap();
    node.delete(5, &[1]);
    node.delete(5, &[1]);
    assert_eq!(node.container().info().pending_delete, 1, "told twice, counted once");
    node.kill();
    node.open();
    let info = node.container().info();
    assert_eq!((info.pending_delete, info.delete_tx), (1, 5));
    assert_eq!(node.store().reclaim(10).unwrap().blocks, 1);
    node.kill();
    node.open();
    assert_eq!(node.read(1).unwrap_err().result(), ResultCode::NoSuchBlock);
    assert_eq!(node.store().reclaim(10).unwrap().blocks, 0);
    assert_eq!(node.container().info().pending_delete, 0);
}

#[test]
fn a_reclaimed_block_does_not_come_back_by_replay() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 5000));
    node.put_small(2, pattern(2, 5000));
    node.delete(1, &[1]);
    node.store().reclaim(10).unwrap();
    node.kill();
    node.open();
    node.replay();
    assert_eq!(node.read(1).unwrap_err().result(), ResultCode::NoSuchBlock);
    assert_eq!(node.read(2).unwrap(), pattern(2, 5000));
    assert_eq!(node.container().info().used, 5000);
}

#[test]
fn a_block_deleted_before_it_came_is_dropped_when_it_comes() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 100));
    node.delete(1, &[2, 3]);
    node.store().reclaim(10).unwrap();
    node.kill();
    node.open();
    node.replay();
    // The client's answer is the same as on the other replicas.
    let late = node.put_small(2, pattern(2, 100));
    assert_eq!(late.length, 100);
    let gone = node.store().get_block(late.block).unwrap_err();
    assert_eq!(gone.result(), ResultCode::NoSuchBlock, "and not that this replica is behind");
    node.put_large(3, &[pattern(3, 100_000)]);
    for local in [2, 3] {
        assert_eq!(node.read(local).unwrap_err().result(), ResultCode::NoSuchBlock);
    }
    assert!(!node.chunks_dir().join("3.block").exists());
    assert_eq!(node.container().info().blocks, 1);
}

#[test]
fn portions_follow_the_limit() {
    let mut node = Node::new();
    for local in 1..=9 {
        node.put_small(local, pattern(local, 10));
    }
    for tx in 1..=3 {
        let first = (tx as u64 - 1) * 3 + 1;
        node.delete(tx, &[first, first + 1, first + 2]);
    }
    let done = node.store().reclaim(4).unwrap();
    assert_eq!((done.blocks, done.more), (3, true));
    let mut blocks = done.blocks;
    loop {
        let done = node.store().reclaim(4).unwrap();
        blocks += done.blocks;
        if !done.more {
            break;
        }
    }
    assert_eq!(blocks, 9);
}

#[test]
fn a_transaction_that_comes_behind_later_ones_is_carried_out() {
    for beside_clients in [false, true] {
        let mut node = Node::new();
        for local in 1..=6 {
            node.put_small(local, pattern(local, 10));
        }
        node.delete(4, &[1]);
        node.delete(6, &[2]);
        node.delete(8, &[3]);
        let reclaim = |node: &Node, times: u32| {
            for _ in 0..times {
                match beside_clients {
                    true => node.store().reclaim_beside_clients(1, 1.0).unwrap(),
                    false => node.store().reclaim(1).unwrap(),
                };
                node.pipe().flush().unwrap();
            }
        };
        reclaim(&node, 2);
        assert!(node.container().info().pending_delete > 0);
        node.delete(5, &[4]);
        node.delete(2, &[5]);
        reclaim(&node, 20);
        let info = node.container().info();
        assert_eq!((info.blocks, info.pending_delete), (1, 0), "{beside_clients}");
        node.delete(3, &[6]);
        reclaim(&node, 20);
        assert_eq!(node.container().info().pending_delete, 0, "{beside_clients}");
    }
}

#[test]
fn nonsense_transactions_are_refused_one_by_one() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 10));
    let mut elsewhere = transaction(3, &[1]);
    elsewhere.container_id = 99;
    let results =
        node.store().delete_blocks(&[transaction(0, &[1]), transaction(2, &[1]), elsewhere]);
    let codes: Vec<_> = results
        .iter()
        .map(|r| (r.tx_id, r.outcome.as_ref().map_err(|e| e.result()).copied()))
        .collect();
    assert!(codes.contains(&(0, Err(ResultCode::InvalidArgument))));
    assert!(codes.contains(&(2, Ok(()))));
    assert!(codes.contains(&(3, Err(ResultCode::ContainerNotFound))));
}

#[test]
fn a_block_that_is_deleted_elsewhere_leaves_nothing_when_its_entry_comes_after_a_kill() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 10));
    let committed_at = |index| BlockId { bcsid: index, ..id(2) };
    // The entry after the first one; no replica has its bytes.
    node.store().note_deleted(committed_at(2)).unwrap();
    node.kill();
    node.open();
    node.replay();
    let block = block_data(2, &[pattern(2, 300_000)]);
    node.apply(vec![Entry::Put(block)]).pop().unwrap().unwrap();
    assert_eq!(node.read(2).unwrap_err().result(), ResultCode::NoSuchBlock);
    assert_eq!(node.container().info().state, container::ContainerState::Open);
    assert_eq!(node.container().info().bcsid, 2, "it has come this far");
    assert!(node.container().deleted_early(LocalId(2)).is_none(), "that is over now");
}

#[test]
fn a_block_that_was_written_on_before_it_was_deleted_elsewhere_leaves_nothing() {
    for rounds in [vec![2], vec![1, 1]] {
        let mut node = Node::new();
        node.put_small(1, pattern(1, 10));
        // A client flushed it and wrote on. The entries have been confirmed when the first of them
        // is applied: both were noted before.
        for index in [2, 3] {
            node.store().note_deleted(BlockId { bcsid: index, ..id(2) }).unwrap();
        }
        for entries in rounds {
            let put = || Entry::Put(block_data(2, &[pattern(2, 300_000)]));
            let outcomes = node.apply((0..entries).map(|_| put()).collect());
            outcomes.into_iter().for_each(|outcome| _ = outcome.unwrap());
        }
        assert_eq!(node.container().info().state, container::ContainerState::Open);
        assert_eq!(node.read(2).unwrap_err().result(), ResultCode::NoSuchBlock);
        assert_eq!(node.container().info().bcsid, 3, "it has come this far");
        assert!(node.container().deleted_early(LocalId(2)).is_none(), "that is over now");
    }
}

#[test]
fn a_block_that_scm_had_deleted_before_it_came_leaves_nothing_however_often_it_is_put() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 100));
    node.delete(1, &[2]);
    node.store().reclaim(10).unwrap();
    for _ in 0..2 {
        let block = block_data(2, &[pattern(2, 300_000)]);
        node.apply(vec![Entry::Put(block)]).pop().unwrap().unwrap();
        node.kill();
        node.open();
        node.replay();
    }
    assert_eq!(node.container().info().state, container::ContainerState::Open);
    assert_eq!(node.read(2).unwrap_err().result(), ResultCode::NoSuchBlock);
}

/// Applies an entry; `meanwhile` runs between its checks and its writes, as when a round fetches
/// more for a snapshot.
pub(super) fn apply_around(node: &mut Node, entry: Entry, meanwhile: impl FnOnce(&Node)) {
    let (pipe, at) = (node.pipe(), node.log.len() as u64 + 1);
    node.log.push(entry.clone());
    let at = Position { term: 1, index: at };
    let mut batch = pipe.begin();
    batch.create_container(at, CONTAINER, 0).unwrap();
    let put = match &entry {
        Entry::Small(local, data) => {
            let block = block_data(local.0, std::slice::from_ref(data));
            batch.put_small_file(at, &block, &block.chunks[0], data.clone())
        }
        Entry::Put(block) => batch.put_block(at, block),
        Entry::Close => unreachable!(),
    };
    put.unwrap();
    meanwhile(node);
    batch.commit().unwrap();
}

#[tokio::test]
async fn a_block_that_is_deleted_while_its_entry_is_applied_leaves_nothing() {
    let large = || Entry::Put(block_data(2, &[pattern(2, 300_000)]));
    let small = || Entry::Small(LocalId(2), pattern(2, 5_000));
    for (is_large, was_there) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut node = Node::new();
        node.put_small(1, pattern(1, 100));
        match (is_large, was_there) {
            (true, true) => _ = node.put_large(2, &[pattern(2, 300_000)]),
            (false, true) => _ = node.put_small(2, pattern(2, 5_000)),
            (true, false) => {
                let block = block_data(2, &[pattern(2, 300_000)]);
                let write = node.store().write_chunk(id(2), &block.chunks[0], pattern(2, 300_000));
                block_on(write).unwrap();
                block_on(node.store().sync_block(id(2))).unwrap();
            }
            (false, false) => {}
        }
        let entry = if is_large { large() } else { small() };
        apply_around(&mut node, entry, |node| {
            node.delete(1, &[2]);
            node.store().reclaim(10).unwrap();
        });
        let check = |node: &Node| {
            let info = node.container().info();
            assert_eq!(node.read(2).unwrap_err().result(), ResultCode::NoSuchBlock);
            assert!(!node.chunks_dir().join("2.block").exists());
            assert_eq!((info.blocks, info.used), (1, 100));
            assert_eq!(node.read(1).unwrap(), pattern(1, 100));
        };
        check(&node);
        let live = |node: &Node| -> u64 {
            let segments = node.container().segments.lock().infos.clone();
            segments.values().map(|info| info.live_records).sum()
        };
        assert_eq!(live(&node), 1, "{is_large} {was_there}");
        if !was_there {
            // The note of the block is durable before its bytes are deleted.
            node.kill();
            node.open();
            node.replay();
            check(&node);
        }
        node.apply(vec![Entry::Close]).pop().unwrap().unwrap();
        assert_eq!(node.scan(ScanKind::Data).await, Verdict::Sound);
        check(&node);
    }
}

#[test]
fn an_entry_that_took_the_place_of_one_whose_block_was_deleted_is_applied() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 10));
    node.store().note_deleted(BlockId { bcsid: 2, ..id(2) }).unwrap();
    // Another leader has another entry there, and the block follows it.
    node.put_small(3, pattern(3, 10));
    let put = node.put_large(2, &[pattern(2, 300_000)]);
    assert_eq!(put.block.bcsid, 3);
    assert_eq!(node.read(2).unwrap(), pattern(2, 300_000));
}

#[tokio::test]
async fn a_disk_that_does_not_answer_holds_up_no_count_of_deletions_and_is_named() {
    let mut node = Node::new();
    (1..=3).for_each(|local| _ = node.put_small(local, pattern(local, 1_000)));
    node.delete(1, &[1, 2]);
    let (soon, store) = (Duration::from_millis(20), node.store());
    let (pending, silent) = store.pending_deletions(10, testkit::LIMIT).await.unwrap();
    assert_eq!((pending.transactions, pending.blocks, pending.more, silent), (1, 2, false, None));
    // As while a count hangs.
    let disk = &store.disks()[0];
    let hangs = disk.deletion_look.clone().lock_owned().await;
    let (pending, silent) = store.pending_deletions(10, soon).await.unwrap();
    assert_eq!((pending.transactions, pending.more), (0, true));
    assert_eq!(silent.as_deref(), Some(disk.path()));
    drop(hangs);
    let (pending, silent) = store.pending_deletions(10, testkit::LIMIT).await.unwrap();
    assert_eq!((pending.transactions, silent), (1, None));
}
