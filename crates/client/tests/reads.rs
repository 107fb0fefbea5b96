//! Reading: ranges, bad and late replicas, blocks that moved.

use std::sync::atomic::Ordering;

use client::ErrorKind;
use futures::TryStreamExt;
use proto::datanode::Type as Command;

use crate::datanode::Node;
use crate::support::{BLOCK, CHUNK, Cluster, SMALL, data, path, pipeline};

#[tokio::test]
async fn any_range_is_that_part_of_the_key() {
    let cluster = Cluster::start(1).await;
    let whole = data(2 * BLOCK as usize + CHUNK + 123);
    cluster.put("k", whole.clone()).await.unwrap();
    let reader = cluster.client.open_key(&path("k")).await.unwrap();
    let end = whole.len() as u64;
    let edges = [
        0,
        1,
        8191,
        8192,
        8193,
        CHUNK as u64,
        BLOCK - 1,
        BLOCK,
        BLOCK + 1,
        2 * BLOCK,
        end - 1,
        end,
    ];
    for from in edges {
        for to in edges.into_iter().filter(|to| *to >= from).chain([end + 1000]) {
            let got = reader.read(from..to).await.unwrap();
            let to = to.min(end).max(from.min(end)) as usize;
            assert_eq!(got, whole.slice(from.min(end) as usize..to), "{from}..{to}");
        }
    }
}

#[tokio::test]
async fn a_part_of_a_small_key_is_read_too() {
    let cluster = Cluster::start(1).await;
    cluster.put("k", data(SMALL)).await.unwrap();
    let reader = cluster.client.open_key(&path("k")).await.unwrap();
    assert_eq!(reader.read(100..200).await.unwrap(), data(SMALL).slice(100..200));
    assert_eq!(cluster.pipelines[0][0].seen.count(Command::GetSmallFile), 1);
}

#[tokio::test]
async fn a_stream_gives_pieces_in_order() {
    let cluster = Cluster::start(1).await;
    let whole = data(3 * BLOCK as usize);
    cluster.put("k", whole.clone()).await.unwrap();
    let reader = cluster.client.open_key(&path("k")).await.unwrap();
    let pieces: Vec<_> = reader.stream(0..reader.len()).try_collect().await.unwrap();
    assert!(pieces.len() > 3);
    assert_eq!(pieces.concat(), whole);
}

#[tokio::test]
async fn a_corrupt_replica_is_passed_over() {
    for size in [SMALL, 3 * CHUNK] {
        let cluster = Cluster::start(1).await;
        cluster.put("k", data(size)).await.unwrap();
        cluster.pipelines[0][0].faults.corrupt.store(true, Ordering::Relaxed);
        assert_eq!(cluster.get("k").await.unwrap(), data(size));
    }
}

#[tokio::test]
async fn corruption_everywhere_is_told_and_nothing_is_handed_out() {
    for size in [SMALL, 3 * CHUNK] {
        let cluster = Cluster::start(1).await;
        cluster.put("k", data(size)).await.unwrap();
        for node in &cluster.pipelines[0] {
            node.faults.corrupt.store(true, Ordering::Relaxed);
        }
        let error = cluster.get("k").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
}

#[tokio::test]
async fn a_replica_that_does_not_answer_is_overtaken() {
    for size in [SMALL, 3 * CHUNK] {
        let cluster = Cluster::start(1).await;
        cluster.put("k", data(size)).await.unwrap();
        cluster.pipelines[0][0].faults.silent.store(true, Ordering::Relaxed);
        assert_eq!(cluster.get("k").await.unwrap(), data(size));
    }
}

#[tokio::test]
async fn replicas_that_have_yet_to_catch_up_are_waited_for() {
    let cluster = Cluster::start(1).await;
    cluster.put("k", data(SMALL)).await.unwrap();
    for node in &cluster.pipelines[0] {
        node.faults.behind.store(6, Ordering::Relaxed);
    }
    assert_eq!(cluster.get("k").await.unwrap(), data(SMALL));
}

#[tokio::test]
async fn a_block_that_moved_is_found_again() {
    for size in [SMALL, 3 * CHUNK] {
        let mut cluster = Cluster::start(1).await;
        cluster.put("k", data(size)).await.unwrap();
        let reader = cluster.client.open_key(&path("k")).await.unwrap();
        let moved = [Node::start(cluster.blocks.clone()).await];
        *cluster.state().moved.lock() = Some(pipeline(&moved));
        for node in cluster.pipelines.remove(0) {
            node.stop().await;
        }
        assert_eq!(reader.read_all().await.unwrap(), data(size));
    }
}
