//! Single replicas of a block: missing data of one is not hidden by others.

use std::sync::atomic::Ordering;

use client::{Error, ErrorKind, ReplicatedBlock};
use testkit::until;
use types::ReplicationConfig;

use crate::erasure_writes::{CELL, RS_3_2, STRIPE, local, locations};
use crate::support::{CHUNK, Cluster, data, path};

/// The failures of each replica of a block.
async fn kinds(block: &ReplicatedBlock) -> Vec<Vec<ErrorKind>> {
    let of_one = |failures: Vec<Error>| failures.iter().map(Error::kind).collect();
    block.verify().await.into_iter().map(of_one).collect()
}

async fn only_block(cluster: &Cluster, key: &str) -> ReplicatedBlock {
    let (info, mut blocks) = cluster.client.key_replicas(&path(key)).await.unwrap();
    assert_eq!((info.key_name.as_str(), blocks.len()), (key, 1));
    blocks.remove(0)
}

#[tokio::test]
async fn each_replica_of_a_block_group_is_judged_by_itself() {
    let cluster = Cluster::erasure_coded(1, RS_3_2, |_| {}).await;
    let nodes = &cluster.pipelines[0];
    // The third replica has no cell in the second stripe.
    cluster.put("k", data(STRIPE + CELL + CELL / 2)).await.unwrap();
    let block = only_block(&cluster, "k").await;
    assert_eq!(block.config, ReplicationConfig::Ec(RS_3_2));
    let indexes: Vec<_> = block.replicas.iter().map(|r| (r.index, r.node.id)).collect();
    let expected: Vec<_> = (1..).zip(nodes).map(|(index, n)| (index, n.details.id)).collect();
    assert_eq!(indexes, expected);
    assert_eq!(kinds(&block).await, vec![vec![]; 5]);
    let lengths = [1, 2, 3, 4, 5].map(|index| {
        let reads = nodes[index - 1].seen.reads.lock();
        reads.iter().map(|(_, _, length)| *length as usize).sum::<usize>()
    });
    assert_eq!(lengths, [2 * CELL, CELL + CELL / 2, CELL, 2 * CELL, 2 * CELL], "all was read");

    *nodes[1].faults.corrupt_at.lock() = Some(CELL as u64 + 9000);
    nodes[2].faults.ignorant.store(true, Ordering::Relaxed);
    *nodes[4].faults.reads_left.lock() = Some(1);
    let failures = block.verify().await;
    let told: Vec<_> =
        failures.iter().map(|f| f.iter().map(Error::kind).collect::<Vec<_>>()).collect();
    let (corrupt, missing) = (vec![ErrorKind::Corrupt], vec![ErrorKind::NotFound]);
    assert_eq!(told, [vec![], corrupt, missing, vec![], vec![ErrorKind::Internal]]);
    let words = failures[1][0].to_string();
    assert!(words.contains("chunk at offset 32768") && words.contains("slice 1"), "{words}");
    // The node receives a report in the background.
    until("a report of damage", async || nodes[1].seen.damage.load(Ordering::Relaxed) > 0).await;
    // A reader decodes around all of it.
    assert_eq!(kinds(&block).await.iter().filter(|of_one| !of_one.is_empty()).count(), 3);
}

#[tokio::test]
async fn a_replica_of_another_write_is_found_although_its_checksums_are_right() {
    let cluster = Cluster::erasure_coded(1, RS_3_2, |_| {}).await;
    let info = cluster.put("k", data(2 * STRIPE)).await.unwrap();
    let other = cluster.put("other", data(2 * STRIPE + 7)).await.unwrap();
    let (local, other) = (local(&locations(&info)[0]), local(&locations(&other)[0]));
    cluster.blocks.exchange(local, other, 2);
    let (of_other, _) = cluster.blocks.replica(other, 2);
    cluster.blocks.change(local, 2, |record| record.chunks = of_other.chunks);
    let failures = only_block(&cluster, "k").await.verify().await;
    assert_eq!(failures.iter().map(Vec::len).collect::<Vec<_>>(), [0, 2, 0, 0, 0]);
    let words = failures[1][1].to_string();
    assert!(words.contains("offset 32768") && words.contains("replicas 1, 4, 5"), "{words}");
}

#[tokio::test]
async fn a_replica_without_bytes_has_nothing_to_lose() {
    let cluster = Cluster::erasure_coded(1, RS_3_2, |_| {}).await;
    cluster.put("k", data(100)).await.unwrap();
    for node in &cluster.pipelines[0][1..3] {
        node.faults.ignorant.store(true, Ordering::Relaxed);
    }
    let block = only_block(&cluster, "k").await;
    assert_eq!(kinds(&block).await, vec![vec![]; 5]);
    assert_eq!(block.replicas[1].block_data().await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn each_copy_of_a_block_is_judged_by_itself() {
    let cluster = Cluster::start(1).await;
    let nodes = &cluster.pipelines[0];
    cluster.put("k", data(3 * CHUNK)).await.unwrap();
    let block = only_block(&cluster, "k").await;
    assert_eq!(kinds(&block).await, vec![vec![]; 3]);
    assert!(block.replicas.iter().all(|replica| replica.index == 0));
    nodes[0].faults.corrupt.store(true, Ordering::Relaxed);
    nodes[2].faults.ignorant.store(true, Ordering::Relaxed);
    let corrupt = vec![ErrorKind::Corrupt; 3];
    assert_eq!(kinds(&block).await, [corrupt, vec![], vec![ErrorKind::NotFound]]);
    let chunks = block.replicas[1].block_data().await.unwrap().chunks;
    assert_eq!(chunks.iter().map(|chunk| chunk.len as usize).sum::<usize>(), 3 * CHUNK);
}
