//! Replicas that differ from those of other nodes take what they lack, on SCM's word.

use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use config::Configuration;
use proto::scm_datanode::ContainerReplicaProto;
use proto::scm_datanode::container_replica_proto::State;
use testkit::until;
use types::{BlockId, DatanodeId};

use crate::failing_disk::{container_parents, disk_of};
use crate::failing_group::{http, metric};
use crate::support::{Cluster, Pipe, block, bytes};

type Written = Vec<(BlockId, Bytes)>;

/// Scans at once, again and again.
fn eager(conf: Configuration) -> Configuration {
    conf.with("hdds.container.scrub.data.scan.interval", "200ms")
        .with("hdds.container.scrub.metadata.scan.interval", "200ms")
        .with("hdds.container.scrub.volume.bytes.per.second", "100MB")
        .with("hdds.container.scrub.min.gap", "0s")
        .with("ozone.block.deleting.service.interval", "200ms")
}

/// Two large blocks, 1 and 6, and four small ones.
async fn write(pipe: &mut Pipe, seed: u64) -> Written {
    let mut written = Vec::new();
    for local in [1, 6] {
        let data = bytes(seed + local, 300_000);
        written.push((pipe.put_large(block(1, local), &data, 100_000).await.unwrap(), data));
    }
    for local in 2..6 {
        let data = bytes(seed + local, 1_000);
        written.push((pipe.put_small(block(1, local), data.clone()).await.unwrap(), data));
    }
    written
}

async fn close(cluster: &Cluster, pipe: &Pipe, nodes: &[DatanodeId]) {
    for node in nodes {
        cluster.scm.scm.send_close_container(*node, 1, pipe.id, false);
    }
    for node in nodes {
        cluster.scm.scm.wait_for_replica(*node, 1, State::Closed).await;
    }
}

async fn check(pipe: &Pipe, node: DatanodeId, written: &Written) {
    for (block, data) in written {
        assert_eq!(pipe.get_large(node, *block).await.unwrap(), data, "{block}");
    }
}

async fn shown(
    cluster: &Cluster,
    what: &str,
    node: DatanodeId,
    is_so: impl Fn(&ContainerReplicaProto) -> bool,
) -> ContainerReplicaProto {
    let look = |known: &crate::support::scm::Known| {
        known.replicas.get(&(node, 1)).filter(|replica| is_so(replica)).cloned()
    };
    cluster.scm.scm.wait(what, look).await
}

/// Waits for the checksum that a node reports of its replica.
async fn checksum(cluster: &Cluster, node: DatanodeId) -> i64 {
    let known = |replica: &ContainerReplicaProto| replica.data_checksum() != 0;
    shown(cluster, "a checksum", node, known).await.data_checksum()
}

async fn count(cluster: &mut Cluster, node: DatanodeId, what: &str) -> u64 {
    let address = http(cluster, node);
    metric(address, &format!("datanode_reconcile_{what}_total")).await as u64
}

/// Has a replica reconciled, and waits until that has ended. Says whether it succeeded.
async fn reconcile(cluster: &mut Cluster, node: DatanodeId, peers: &[DatanodeId]) -> bool {
    let address = http(cluster, node);
    let ended = async || {
        let done = metric(address, "datanode_reconcile_done_total").await;
        (done, metric(address, "datanode_reconcile_failed_total").await)
    };
    let before = ended().await;
    cluster.scm.scm.send_reconcile(node, 1, peers);
    until("the end of a reconciliation", async || ended().await != before).await;
    ended().await.0 > before.0
}

fn chunks(cluster: &mut Cluster, node: DatanodeId) -> PathBuf {
    let disk = disk_of(&cluster.node(node).dir);
    let parents = container_parents(&disk);
    parents.iter().map(|parent| parent.join("1/chunks")).find(|dir| dir.is_dir()).unwrap()
}

fn overwrite(path: &Path, at: u64) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 4], at).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_blocks_alone_come_from_a_peer_and_the_replica_counts_again() {
    let mut cluster = Cluster::start_with(3, eager).await;
    let mut pipe = cluster.pipeline().await;
    let written = write(&mut pipe, 0).await;
    let [first, second, third] = cluster.ids()[..] else { unreachable!() };
    close(&cluster, &pipe, &[first, second, third]).await;
    let good = checksum(&cluster, first).await;
    assert_eq!(checksum(&cluster, second).await, good);
    assert_eq!(checksum(&cluster, third).await, good);

    let chunks = chunks(&mut cluster, second);
    let inode = |name: &str| std::fs::metadata(chunks.join(name)).unwrap().ino();
    let before = (inode("1.block"), inode("6.block"));
    overwrite(&chunks.join("1.block"), 250_000);
    let all = std::fs::read_dir(&chunks).unwrap().map(|entry| entry.unwrap().path());
    let segment = all.into_iter().find(|path| path.extension().is_none_or(|e| e != "block"));
    let segment = segment.unwrap();
    let text = std::fs::read(&segment).unwrap();
    let small = &written[3].1[..];
    let at = text.windows(small.len()).position(|window| window == small).unwrap();
    overwrite(&segment, at as u64 + 500);
    let unhealthy = |replica: &ContainerReplicaProto| replica.state() == State::Unhealthy;
    let replica = shown(&cluster, "the damage", second, unhealthy).await;
    assert_eq!(replica.data_checksum(), 0, "nobody knows what it has");

    assert!(reconcile(&mut cluster, second, &[first, third]).await);
    cluster.scm.scm.wait_for_replica(second, 1, State::QuasiClosed).await;
    assert_eq!(checksum(&cluster, second).await, good);
    assert_eq!(count(&mut cluster, second, "blocks").await, 2);
    assert_eq!(count(&mut cluster, second, "bytes").await, 301_000);
    assert_eq!(count(&mut cluster, second, "repaired").await, 1);
    let after = (inode("1.block"), inode("6.block"));
    assert!(after.0 != before.0 && after.1 == before.1, "one file is new: {before:?} {after:?}");
    check(&pipe, second, &written).await;
    // Its pipeline lives, and it is closed all the same.
    cluster.scm.scm.send_close_container(second, 1, pipe.id, true);
    cluster.scm.scm.wait_for_replica(second, 1, State::Closed).await;

    cluster.node(second).stop().await;
    cluster.node(second).restart().await;
    let pipe = cluster.pipe(pipe.id, first);
    cluster.scm.scm.wait_for_replica(second, 1, State::Closed).await;
    assert_eq!(checksum(&cluster, second).await, good);
    check(&pipe, second, &written).await;
    // Nothing is left to take, and nothing is.
    assert!(reconcile(&mut cluster, second, &[first, third]).await);
    assert_eq!(count(&mut cluster, second, "blocks").await, 0);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_that_no_peer_can_put_right_stays_unhealthy() {
    let mut cluster = Cluster::start_with(3, eager).await;
    let mut pipe = cluster.pipeline().await;
    write(&mut pipe, 0).await;
    let ids = cluster.ids();
    close(&cluster, &pipe, &ids).await;
    for node in &ids[..2] {
        let chunks = chunks(&mut cluster, *node);
        overwrite(&chunks.join("1.block"), 250_000);
        cluster.scm.scm.wait_for_replica(*node, 1, State::Unhealthy).await;
    }
    // The only peer is damaged at the same place.
    assert!(!reconcile(&mut cluster, ids[0], &ids[1..2]).await);
    assert_eq!(count(&mut cluster, ids[0], "blocks").await, 0);
    let state = cluster.scm.scm.with(|known| known.replicas[&(ids[0], 1)].state());
    assert_eq!(state, State::Unhealthy);
    // With one that is good it is put right.
    assert!(reconcile(&mut cluster, ids[0], &ids[2..]).await);
    cluster.scm.scm.wait_for_replica(ids[0], 1, State::QuasiClosed).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_are_all_damaged_put_each_other_right() {
    let mut cluster = Cluster::start_with(3, eager).await;
    let mut pipe = cluster.pipeline().await;
    let written = write(&mut pipe, 0).await;
    let ids = cluster.ids();
    close(&cluster, &pipe, &ids).await;
    let good = checksum(&cluster, ids[0]).await;
    // No block is good on all nodes, and each is good on one of them.
    for (node, names) in ids.iter().zip([&["1.block"][..], &["6.block", "1.block"], &["6.block"]]) {
        let chunks = chunks(&mut cluster, *node);
        names.iter().for_each(|name| overwrite(&chunks.join(name), 100));
        cluster.scm.scm.wait_for_replica(*node, 1, State::Unhealthy).await;
    }
    for (at, node) in ids.iter().enumerate() {
        let peers: Vec<_> = ids.iter().copied().filter(|peer| peer != node).collect();
        assert!(reconcile(&mut cluster, *node, &peers).await, "node {at}");
        cluster.scm.scm.wait_for_replica(*node, 1, State::QuasiClosed).await;
        assert_eq!(checksum(&cluster, *node).await, good);
        check(&pipe, *node, &written).await;
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_comes_and_what_differs_is_left() {
    let mut cluster = Cluster::start_with(2, eager).await;
    let [first, second] = cluster.ids()[..] else { unreachable!() };
    // The same container, written by two pipelines that know nothing of each other.
    let mut pipes = Vec::new();
    for node in [first, second] {
        let (id, leader) = cluster.scm.scm.create_pipeline(&[node]).await;
        pipes.push(cluster.pipe(id, leader));
    }
    let same = bytes(7, 5_000);
    let mut other = Vec::new();
    for (pipe, seed) in pipes.iter_mut().zip([100, 200]) {
        pipe.put_small(block(1, 1), same.clone()).await.unwrap();
        let data = bytes(seed, 5_000);
        other.push((pipe.put_small(block(1, 2), data.clone()).await.unwrap(), data));
    }
    let mut more = Vec::new();
    for local in [3, 40] {
        let data = bytes(local, 250_000);
        let put = pipes[1].put_large(block(1, local), &data, 100_000).await.unwrap();
        more.push((put, data));
    }
    for (pipe, node) in pipes.iter().zip([first, second]) {
        close(&cluster, pipe, &[node]).await;
    }
    let before = checksum(&cluster, first).await;
    let bcsid_of = |known: &mut crate::support::scm::Known| {
        known.replicas[&(first, 1)].block_commit_sequence_id.unwrap()
    };
    let before_bcsid = cluster.scm.scm.with(bcsid_of);
    assert!(!reconcile(&mut cluster, first, &[second]).await, "a block differs");
    assert_eq!(count(&mut cluster, first, "conflicts").await, 1);
    assert_eq!(count(&mut cluster, first, "blocks").await, 2);
    let replica = shown(&cluster, "its blocks", first, |r| r.key_count() == 4).await;
    assert_eq!(replica.used(), 510_000);
    let changed = |r: &ContainerReplicaProto| ![0, before].contains(&r.data_checksum());
    shown(&cluster, "another checksum", first, changed).await;
    let node = |node| cluster.pipe(pipes[0].id, node);
    // It does not claim to have all that was written: what differs, it has not.
    assert_eq!(replica.block_commit_sequence_id, Some(before_bcsid));
    let any = |(id, data): &(BlockId, Bytes)| (BlockId { bcsid: 0, ..*id }, data.clone());
    check(&node(first), first, &more.iter().map(any).collect()).await;
    check(&node(first), first, &other[..1].to_vec()).await;
    check(&node(second), second, &other[1..].to_vec()).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_that_was_deleted_does_not_come_back() {
    let mut cluster = Cluster::start_with(3, eager).await;
    let mut pipe = cluster.pipeline().await;
    write(&mut pipe, 0).await;
    let ids = cluster.ids();
    close(&cluster, &pipe, &ids).await;
    let good = checksum(&cluster, ids[0]).await;
    assert!(cluster.scm.scm.delete_blocks(ids[0], 1, 7, &[3, 6]).await);
    let deleted = |r: &ContainerReplicaProto| r.key_count() == 4;
    shown(&cluster, "the deletion", ids[0], deleted).await;
    // Its peers have not received the deletion. Until it has ended here, the blocks are recorded as
    // deleted; after that, the numbers of the deletions prove it.
    let mut tries = 0;
    while reconcile(&mut cluster, ids[0], &ids[1..]).await {
        tries += 1;
        assert!(tries < 200, "nobody may have deleted them");
    }
    assert_eq!(count(&mut cluster, ids[0], "blocks").await, 0);
    // Nor does a replica that has them still give anything back, or lose it.
    assert!(reconcile(&mut cluster, ids[1], &[ids[0]]).await);
    for node in &ids[1..] {
        assert!(cluster.scm.scm.delete_blocks(*node, 1, 7, &[3, 6]).await);
    }
    assert!(reconcile(&mut cluster, ids[0], &ids[1..]).await);
    for node in &ids {
        shown(&cluster, "the deletion", *node, deleted).await;
    }
    let left = checksum(&cluster, ids[0]).await;
    assert_ne!(left, good);
    for node in &ids[1..] {
        shown(&cluster, "the same checksum", *node, |r| r.data_checksum() == left).await;
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_that_make_no_sense_do_no_harm() {
    let mut cluster = Cluster::start_with(2, eager).await;
    let [first, second] = cluster.ids()[..] else { unreachable!() };
    let (id, leader) = cluster.scm.scm.create_pipeline(&[first]).await;
    let mut pipe = cluster.pipe(id, leader);
    let written = write(&mut pipe, 0).await;
    // One that takes writes, one without peers, a peer that has nothing, and no container at all.
    assert!(!reconcile(&mut cluster, first, &[second]).await);
    close(&cluster, &pipe, &[first]).await;
    assert!(!reconcile(&mut cluster, first, &[]).await);
    assert!(!reconcile(&mut cluster, first, &[second]).await);
    assert!(!reconcile(&mut cluster, second, &[first]).await);
    cluster.scm.scm.send_reconcile(first, i64::MIN, &[second]);
    // Itself: it has all that it has.
    assert!(reconcile(&mut cluster, first, &[first]).await);
    check(&pipe, first, &written).await;
    cluster.stop().await;
}
