//! Erasure-coded keys: replicas that are lost, corrupt, late, or fail in the middle of a read.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use client::ErrorKind;
use futures::TryStreamExt;
use proto::datanode::Type as Command;
use testkit::until;
use tokio::sync::Semaphore;

use crate::datanode::Node;
use crate::erasure_writes::{CELL, GROUP, RS_3_2, STRIPE, local, locations};
use crate::support::{Cluster, data, group, path, replace};

/// A cluster whose client considers nothing late by itself.
async fn cluster() -> Cluster {
    Cluster::erasure_coded(1, RS_3_2, |options| options.hedge_after = Duration::from_secs(60)).await
}

fn ignorant(cluster: &Cluster, positions: &[usize], is: bool) {
    for position in positions {
        cluster.pipelines[0][*position].faults.ignorant.store(is, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn only_replicas_that_hold_the_range_are_asked() {
    let cluster = cluster().await;
    let whole = data(2 * STRIPE);
    cluster.put("k", whole.clone()).await.unwrap();
    let reader = cluster.client.open_key(&path("k")).await.unwrap();
    let range = CELL + 100..CELL + 200;
    let got = reader.read(range.start as u64..range.end as u64).await.unwrap();
    assert_eq!(got, whole.slice(range));
    let reads = |position: usize| cluster.pipelines[0][position].seen.reads.lock().clone();
    let lengths: Vec<_> = reads(1).iter().map(|(_, from, length)| (*from, *length)).collect();
    assert_eq!(lengths, [(0, 8192)], "one slice of the second cell");
    for position in [0, 2, 3, 4] {
        let seen = &cluster.pipelines[0][position].seen;
        assert_eq!(seen.count(Command::GetBlock) + reads(position).len(), 0, "{position}");
    }
}

#[tokio::test]
async fn any_range_is_that_part_of_the_key_with_any_two_replicas_lost() {
    let cluster = cluster().await;
    let whole = data(GROUP + STRIPE + CELL + 123);
    cluster.put("k", whole.clone()).await.unwrap();
    let end = whole.len() as u64;
    let (cell, stripe, all) = (CELL as u64, STRIPE as u64, GROUP as u64);
    let edges =
        [0, 1, 8191, 8193, cell - 1, cell, 2 * cell + 5, stripe, stripe + 1, all - 1, all + 7, end];
    let lost = (0..5).flat_map(|one| (one..5).map(move |other| [one, other]));
    for lost in std::iter::once(vec![]).chain(lost.map(|lost| lost.to_vec())) {
        ignorant(&cluster, &lost, true);
        let reader = cluster.client.open_key(&path("k")).await.unwrap();
        for from in edges {
            for to in edges.into_iter().filter(|to| *to >= from) {
                let got = reader.read(from..to).await.unwrap();
                let expected = whole.slice(from as usize..to as usize);
                assert_eq!(got, expected, "{from}..{to} without {lost:?}");
            }
        }
        ignorant(&cluster, &lost, false);
    }
}

#[tokio::test]
async fn short_keys_come_back_with_any_two_replicas_lost() {
    let cluster = cluster().await;
    for size in [1, CELL - 1, CELL, CELL + 1, 2 * CELL + 3, STRIPE - 1, STRIPE + 1] {
        cluster.put("k", data(size)).await.unwrap();
        for lost in (0..5).flat_map(|one| (one + 1..5).map(move |other| [one, other])) {
            ignorant(&cluster, &lost, true);
            assert_eq!(cluster.get("k").await.unwrap(), data(size), "{size} without {lost:?}");
            ignorant(&cluster, &lost, false);
        }
    }
}

#[tokio::test]
async fn a_location_without_some_replicas_is_read() {
    let mut cluster = cluster().await;
    cluster.put("k", data(GROUP)).await.unwrap();
    let state = cluster.om.state.clone();
    for position in [3, 0] {
        cluster.pipelines[0].remove(position).stop().await;
        let mut pipelines = state.pipelines.lock();
        pipelines[0].members.remove(position);
        pipelines[0].replica_indexes.remove(position);
    }
    assert_eq!(cluster.get("k").await.unwrap(), data(GROUP));
}

#[tokio::test]
async fn replicas_that_fail_in_the_middle_are_decoded_around_without_reading_twice() {
    for reads in 0..6 {
        let cluster = cluster().await;
        let whole = data(GROUP);
        cluster.put("k", whole.clone()).await.unwrap();
        for position in [0, 2] {
            *cluster.pipelines[0][position].faults.reads_left.lock() = Some(reads);
        }
        assert_eq!(cluster.get("k").await.unwrap(), whole, "{reads} reads");
        expect_nothing_read_twice(&cluster);
    }
}

fn expect_nothing_read_twice(cluster: &Cluster) {
    for (position, node) in cluster.pipelines[0].iter().enumerate() {
        let mut reads = node.seen.reads.lock().clone();
        let count = reads.len();
        reads.sort_unstable();
        reads.dedup_by(|later, before| later.0 == before.0 && later.1 < before.1 + before.2);
        assert_eq!(reads.len(), count, "replica {position} gave bytes twice");
    }
}

#[tokio::test]
async fn what_is_there_of_a_cell_is_not_read_again_when_all_of_it_is_needed() {
    let cluster = cluster().await;
    let whole = data(STRIPE);
    let info = cluster.put("k", whole.clone()).await.unwrap();
    let reader = cluster.client.open_key(&path("k")).await.unwrap();
    // The second cell is lost after the parts of its neighbours have arrived.
    let [before, lost, after] = &cluster.pipelines[0][..3] else { unreachable!() };
    let gate = Arc::new(Semaphore::new(0));
    *lost.faults.read_gate.lock() = Some((local(&locations(&info)[0]), gate.clone()));
    lost.faults.ignorant.store(true, Ordering::Relaxed);
    let range = CELL / 2..2 * CELL + CELL / 2;
    let read = reader.read(range.start as u64..range.end as u64);
    let lose = async {
        until("the neighbours to be read", async || {
            [before, after].iter().all(|node| !node.seen.reads.lock().is_empty())
        })
        .await;
        gate.add_permits(1000);
    };
    let (got, ()) = tokio::join!(read, lose);
    assert_eq!(got.unwrap(), whole.slice(range));
    expect_nothing_read_twice(&cluster);
    let half = CELL as u64 / 2;
    let parts = |node: &Node| -> Vec<_> {
        node.seen.reads.lock().iter().map(|(_, from, length)| (*from, *length)).collect()
    };
    assert_eq!(parts(before), [(half, half), (0, half)]);
    assert_eq!(parts(after), [(0, half), (half, half)]);
}

#[tokio::test]
async fn a_corrupt_cell_is_decoded_around_and_told_to_its_node_only() {
    let cluster = cluster().await;
    let whole = data(GROUP);
    cluster.put("k", whole.clone()).await.unwrap();
    for position in [1, 2] {
        let flipped = (CELL + 10_000 * position) as u64;
        *cluster.pipelines[0][position].faults.corrupt_at.lock() = Some(flipped);
    }
    assert_eq!(cluster.get("k").await.unwrap(), whole);
    let told = |position: usize| {
        let node: &Node = &cluster.pipelines[0][position];
        node.seen.damage.load(Ordering::Relaxed)
    };
    until("reports of damage to both nodes", async || told(1) > 0 && told(2) > 0).await;
    assert_eq!(told(0) + told(3) + told(4), 0);
}

#[tokio::test]
async fn more_corrupt_replicas_than_parity_are_told_and_nothing_is_handed_out() {
    let cluster = cluster().await;
    cluster.put("k", data(STRIPE)).await.unwrap();
    for position in [0, 2, 4] {
        cluster.pipelines[0][position].faults.corrupt.store(true, Ordering::Relaxed);
    }
    let error = cluster.get("k").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[tokio::test]
async fn too_few_replicas_are_named() {
    let cluster = cluster().await;
    cluster.put("k", data(STRIPE)).await.unwrap();
    ignorant(&cluster, &[0, 2, 3], true);
    let error = cluster.get("k").await.unwrap_err();
    let client::Error::TooFewReplicas { needed, available, missing, .. } = &error else {
        panic!("{error}")
    };
    let missing: Vec<u32> = missing.iter().map(|(index, _)| *index).collect();
    assert_eq!((*needed, *available, missing), (3, 2, vec![1, 3, 4]));
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn late_replicas_are_decoded_around() {
    // The hedge alone ends the wait.
    let patient = |options: &mut client::ClientOptions| {
        options.read_timeout = Duration::from_secs(1_000_000);
    };
    let cluster = Cluster::erasure_coded(1, RS_3_2, patient).await;
    cluster.put("k", data(GROUP)).await.unwrap();
    for late in [[0, 1], [2, 4], [0, 3]] {
        for position in late {
            cluster.pipelines[0][position].faults.silent.store(true, Ordering::Relaxed);
        }
        assert_eq!(cluster.get("k").await.unwrap(), data(GROUP), "{late:?}");
        for position in late {
            cluster.pipelines[0][position].faults.silent.store(false, Ordering::Relaxed);
        }
    }
}

#[tokio::test]
async fn a_late_replica_that_answers_is_as_good_when_there_is_no_other() {
    let cluster = Cluster::erasure_coded(1, RS_3_2, |_| {}).await;
    let info = cluster.put("k", data(STRIPE)).await.unwrap();
    ignorant(&cluster, &[3, 4], true);
    let gate = cluster.hold_reads(&info, 0);
    let read = async { cluster.get("k").await.unwrap() };
    let asked = |node: &Node| node.seen.commands.lock().contains(&Command::GetBlock);
    let relent = async {
        // The replicas with parity are read only because the others are late.
        until("requests for parity", async || cluster.pipelines[0].iter().skip(3).all(asked)).await;
        gate.add_permits(1000);
    };
    assert_eq!(tokio::join!(read, relent).0, data(STRIPE));
}

#[tokio::test]
async fn replicas_that_moved_are_found_again_and_what_was_read_is_kept() {
    let mut cluster = cluster().await;
    cluster.put("k", data(STRIPE)).await.unwrap();
    let reader = cluster.client.open_key(&path("k")).await.unwrap();
    let mut moved = Vec::new();
    for _ in 0..5 {
        moved.push(Node::start(cluster.blocks.clone()).await);
    }
    *cluster.state().moved.lock() = Some(group(&moved, RS_3_2));
    // Three of five replicas have moved.
    let old = cluster.pipelines.remove(0);
    let mut there = Vec::new();
    for (position, node) in old.into_iter().enumerate() {
        match position {
            1 | 3 => there.push(node),
            _ => node.stop().await,
        }
    }
    assert_eq!(reader.read_all().await.unwrap(), data(STRIPE));
    let count = |nodes: &[Node]| -> usize {
        nodes.iter().map(|node| node.seen.count(Command::ReadChunk)).sum()
    };
    assert_eq!(count(&there), 2, "before it was looked up again");
    assert_eq!(count(&moved[1..2]) + count(&moved[3..4]), 0, "they are not read again");
}

#[tokio::test]
async fn decoded_bytes_that_are_not_what_was_written_are_not_handed_out() {
    let cluster = cluster().await;
    let info = cluster.put("k", data(STRIPE)).await.unwrap();
    // The second cell is of another stripe, with matching checksums of its own.
    let other = cluster.put("other", data(STRIPE + 7)).await.unwrap();
    let (theirs, _) = cluster.blocks.replica(local(&locations(&other)[0]), 2);
    cluster.blocks.exchange(local(&locations(&info)[0]), local(&locations(&other)[0]), 2);
    cluster.blocks.change(local(&locations(&info)[0]), 2, |record| {
        record.chunks[0].checksum_data = theirs.chunks[0].checksum_data.clone();
    });
    ignorant(&cluster, &[0], true);
    let error = cluster.get("k").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(matches!(error, client::Error::Undecodable { .. }), "{error}");
}

#[tokio::test]
async fn a_key_that_is_overwritten_while_it_is_read_is_read_anew_or_not_at_all() {
    let cluster = cluster().await;
    cluster.put("k", data(GROUP)).await.unwrap();
    cluster.put("new", data(2 * GROUP)).await.unwrap();
    cluster.replace_after_look_up("k", "new");
    assert_eq!(cluster.get("k").await.unwrap(), data(2 * GROUP));

    let old = cluster.put("k", data(3 * GROUP)).await.unwrap();
    cluster.put("new", data(STRIPE)).await.unwrap();
    let gate = cluster.hold_reads(&old, 1);
    let reader = cluster.client.open_key(&path("k")).await.unwrap();
    let mut pieces = reader.begin(0..reader.len()).await.unwrap();
    replace(cluster.state(), &cluster.blocks, "k", "new");
    gate.add_permits(Semaphore::MAX_PERMITS);
    let mut got = Vec::new();
    let error = loop {
        match pieces.try_next().await {
            Ok(piece) => got.extend_from_slice(&piece.expect("the old version is deleted")),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Overwritten, "{error}");
    // Data in flight during the overwrite arrived; none of the new version did.
    assert_eq!(got, data(3 * GROUP).slice(..got.len()));
}

#[tokio::test]
async fn a_stream_gives_pieces_in_order() {
    let cluster = cluster().await;
    let whole = data(2 * GROUP + 5);
    cluster.put("k", whole.clone()).await.unwrap();
    let (_, pieces) = cluster.client.begin_key(&path("k")).await.unwrap();
    let pieces: Vec<_> = pieces.try_collect().await.unwrap();
    assert_eq!(pieces.concat(), whole);
}
