//! Damaged and missing blocks of a closed replica are replaced, whatever fails meanwhile.

use blockio::{Fault, Op, Strike};
use container::{ContainerState, merkle};
use metastore::{Batch, Durability};

use super::damage::flip;
use super::*;
use crate::tables::{self, BLOCK_DATA};

/// The chunks of each block; 3 and 4 are packed.
fn contents(local: u64) -> Vec<Bytes> {
    match local {
        1 => vec![pattern(1, 300_000), pattern(2, 50_000)],
        2 => vec![pattern(3, 70_000)],
        local => vec![pattern(local + 1, 3_000)],
    }
}

fn closed() -> Node {
    let mut node = Node::new();
    node.put_large(1, &contents(1));
    node.put_large(2, &contents(2));
    node.put_small(3, contents(3)[0].clone());
    node.put_small(4, contents(4)[0].clone());
    node.close();
    node.store().flush_all().unwrap();
    node
}

/// Blocks 1 and 3 are damaged, the row of 2 is lost.
async fn damaged() -> Node {
    let node = closed();
    flip(&node.chunks_dir().join("1.block"), 310_000);
    flip(&node.chunks_dir().join("00000001.segment"), 4_096 + 1_000);
    let mut batch = Batch::new();
    batch.delete(BLOCK_DATA, tables::block_key(CONTAINER, LocalId(2)));
    node.container().disk().db.write(batch, Durability::Sync).unwrap();
    let verdict = node.scan(ScanKind::Data).await;
    assert!(matches!(verdict, Verdict::Damaged(_)), "{verdict:?}");
    node
}

/// Takes from `good` what `node` lacks.
async fn reconcile(node: &Node, good: &Node, compared: Compared) -> Result<Reconciled> {
    let mut replica = node.store().begin_reconcile(CONTAINER, &Unpaced).await?;
    let theirs = good.store().checksum_info(CONTAINER)?.container_merkle_tree.unwrap();
    for difference in merkle::compare(replica.tree(), &theirs) {
        let row = good.container().block_row(difference.local)?.unwrap().into_wire();
        let mut block = replica.begin_block(difference.local, row).await?;
        for data in contents(difference.local.0) {
            block.write(data).await?;
        }
        replica.put(block).await?;
    }
    replica.finish(compared, &Unpaced).await
}

async fn assert_whole(node: &Node, good: &Node) {
    assert_eq!(node.scan(ScanKind::Reconcile).await, Verdict::Sound);
    let (info, expected) = (node.container().info(), good.container().info());
    assert_eq!((info.blocks, info.used), (expected.blocks, expected.used));
    assert_eq!(info.bcsid, expected.bcsid);
    for local in 1..=4 {
        let chunks =
            |node: &Node| node.container().block_row(LocalId(local)).unwrap().unwrap().chunks;
        assert_eq!(chunks(node), chunks(good), "block {local}");
    }
    let arrivals = node.store().disks()[0].arrivals_dir();
    assert_eq!(fs::read_dir(arrivals).unwrap().count(), 0, "nothing is left behind");
}

#[tokio::test]
async fn what_is_lost_and_damaged_comes_back_and_is_there_after_a_kill() {
    let (good, mut node) = (closed(), damaged().await);
    let done = reconcile(&node, &good, Compared::WithSound(4)).await.unwrap();
    assert_eq!((done.blocks, done.bytes), (3, 423_000));
    assert!(done.repaired && done.damaged == 0, "{done:?}");
    assert_eq!(node.container().state(), ContainerState::QuasiClosed);
    node.kill();
    node.open();
    assert_eq!(node.container().state(), ContainerState::QuasiClosed);
    assert!(node.container().has_arrived(), "its state says nothing of its pipeline's log");
    assert_whole(&node, &good).await;
    // Its checksum is that of the other one, however each came by it.
    while node.store().compute_next_checksum().is_some() {}
    while good.store().compute_next_checksum().is_some() {}
    let checksum = |node: &Node| node.container().known_checksum().unwrap();
    assert_eq!(checksum(&node), checksum(&good));
}

#[tokio::test]
async fn one_that_was_not_compared_with_all_stays_unhealthy() {
    let (good, node) = (closed(), damaged().await);
    let done = reconcile(&node, &good, Compared::NotWithAll).await.unwrap();
    assert!(!done.repaired, "{done:?}");
    assert_eq!(node.container().state(), ContainerState::Unhealthy);
    // With others that are damaged themselves, its sums show whether anything is still missing.
    let done = reconcile(&node, &good, Compared::WithDamaged).await.unwrap();
    assert_eq!((done.blocks, done.repaired), (0, false), "the row was counted when it was lost");
    let done = reconcile(&node, &good, Compared::WithSound(4)).await.unwrap();
    assert!(done.repaired, "{done:?}");
    assert_whole(&node, &good).await;
}

/// A damaged replica gave block 4, and there is no proof of earlier writes.
#[tokio::test]
async fn the_position_of_a_replica_rises_no_further_than_that_of_one_that_lacks_nothing() {
    let (mut node, mut good) = (Node::new(), Node::new());
    for node in [&mut node, &mut good] {
        node.put_large(1, &contents(1));
        node.put_small(3, contents(3)[0].clone());
    }
    good.put_small(4, contents(4)[0].clone());
    for node in [&mut node, &mut good] {
        node.close();
        node.store().flush_all().unwrap();
    }
    let bcsid = |node: &Node| node.container().info().bcsid;
    assert_eq!((bcsid(&node), bcsid(&good)), (2, 3));
    let done = reconcile(&node, &good, Compared::WithSound(2)).await.unwrap();
    assert_eq!((done.blocks, bcsid(&node)), (1, 2), "one that was compared has come to 2");
    reconcile(&node, &good, Compared::WithDamaged).await.unwrap();
    assert_eq!(bcsid(&node), 2);
    reconcile(&node, &good, Compared::WithSound(3)).await.unwrap();
    assert_eq!(bcsid(&node), 3);
}

/// The commits that a replica lost are later than all of the others'.
#[tokio::test]
async fn a_replica_that_lost_more_than_others_ever_had_stays_unhealthy() {
    let (good, node) = (closed(), damaged().await);
    let done = reconcile(&node, &good, Compared::WithSound(3)).await.unwrap();
    assert!(!done.repaired, "{done:?}");
    assert_eq!(node.container().state(), ContainerState::Unhealthy);
    let done = reconcile(&node, &good, Compared::WithSound(4)).await.unwrap();
    assert!(done.repaired, "{done:?}");
}

/// Every sync fails in turn, which fails the disk, and the node is killed after it: then the
/// replica is UNHEALTHY and can be repaired, or it is whole.
#[tokio::test]
async fn whichever_sync_fails_a_replica_counts_only_when_it_is_whole() {
    let good = closed();
    let mut failed = 0;
    for skip in 0.. {
        let mut node = damaged().await;
        let (op, path, times) = (Op::Sync, "/disk/".to_owned(), 1);
        node.faults.add(Fault { op, path, skip, times, strike: Strike::Eio });
        let outcome = reconcile(&node, &good, Compared::WithSound(4)).await;
        node.faults.clear();
        node.kill();
        node.open();
        match node.container().state() {
            ContainerState::QuasiClosed => {}
            ContainerState::Unhealthy => {
                let done = reconcile(&node, &good, Compared::WithSound(4)).await.unwrap();
                assert!(done.repaired, "sync {skip}: {done:?}");
            }
            state => panic!("sync {skip}: {state}"),
        }
        assert_whole(&node, &good).await;
        if outcome.is_ok() {
            break;
        }
        failed += 1;
    }
    assert!(failed >= 8, "{failed} syncs");
}

#[tokio::test]
async fn a_deletion_that_comes_meanwhile_is_not_undone() {
    let (good, node) = (closed(), damaged().await);
    let mut replica = node.store().begin_reconcile(CONTAINER, &Unpaced).await.unwrap();
    let row = good.container().block_row(LocalId(2)).unwrap().unwrap().into_wire();
    let mut block = replica.begin_block(LocalId(2), row).await.unwrap();
    block.write(contents(2).remove(0)).await.unwrap();
    node.delete(9, &[2]);
    let refused = replica.put(block).await.unwrap_err().to_string();
    assert!(refused.contains("deleted meanwhile"), "{refused}");
    assert!(node.container().block_row(LocalId(2)).unwrap().is_none());
    // Nor does it move, or is reconciled twice at a time.
    let again = node.store().begin_reconcile(CONTAINER, &Unpaced).await;
    assert!(matches!(again.err(), Some(StorageError::NotReconciled { .. })));
    replica.finish(Compared::NotWithAll, &Unpaced).await.unwrap();
}

#[tokio::test]
async fn bytes_without_their_checksums_do_not_come_in() {
    let (good, node) = (closed(), damaged().await);
    let mut replica = node.store().begin_reconcile(CONTAINER, &Unpaced).await.unwrap();
    let row = good.container().block_row(LocalId(1)).unwrap().unwrap().into_wire();
    let mut block = replica.begin_block(LocalId(1), row.clone()).await.unwrap();
    assert!(block.write(pattern(9, 300_000)).await.is_err(), "other bytes");
    assert!(block.write(pattern(1, 299_999)).await.is_err(), "too few bytes");
    block.write(contents(1).remove(0)).await.unwrap();
    let cut = replica.put(block).await.unwrap_err().to_string();
    assert!(cut.contains("1 of 2 chunks"), "{cut}");
    let mut absurd = row;
    absurd.chunks[1].offset = u64::MAX;
    assert!(replica.begin_block(LocalId(1), absurd).await.is_err());
}

#[tokio::test]
async fn what_came_in_part_is_removed_at_the_next_start() {
    let (good, mut node) = (closed(), damaged().await);
    let replica = node.store().begin_reconcile(CONTAINER, &Unpaced).await.unwrap();
    let row = good.container().block_row(LocalId(1)).unwrap().unwrap().into_wire();
    let mut block = replica.begin_block(LocalId(1), row).await.unwrap();
    block.write(contents(1).remove(0)).await.unwrap();
    drop((replica, block));
    node.kill();
    node.open();
    let arrivals = node.store().disks()[0].arrivals_dir();
    assert_eq!(fs::read_dir(arrivals).unwrap().count(), 0, "nothing is left behind");
    assert!(reconcile(&node, &good, Compared::WithSound(4)).await.unwrap().repaired);
    assert_whole(&node, &good).await;
}

/// Deleted blocks are subtracted from a known checksum: it stays that of the remaining blocks.
#[tokio::test]
async fn a_checksum_follows_deletions() {
    let (one, other) = (closed(), closed());
    while one.store().compute_next_checksum().is_some() {}
    let all = one.container().known_checksum().unwrap();
    for node in [&one, &other] {
        node.delete(1, &[1, 4]);
        node.store().reclaim(100).unwrap();
    }
    let left = one.container().known_checksum().unwrap();
    assert_ne!(left, all);
    assert_eq!(other.container().known_checksum(), None);
    while other.store().compute_next_checksum().is_some() {}
    assert_eq!(other.container().known_checksum(), Some(left));
}
