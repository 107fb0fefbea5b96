//! Deletion gives space back.

use std::path::Path;
use std::time::Duration;

use proto::datanode::Result as ResultCode;
use proto::scm_datanode::container_replica_proto::State;
use testkit::until;

use crate::support::{Cluster, block, bytes, chunk_info};

/// Bytes that a directory's files really take.
fn space(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => space(&entry.path()),
            Ok(meta) if entry.path().to_string_lossy().contains("chunks") => meta.blocks() * 512,
            _ => 0,
        })
        .sum()
}

/// Interval of the service of deletions.
const INTERVAL: Duration = Duration::from_millis(200);

async fn quick(nodes: usize) -> Cluster {
    let interval = format!("{}ms", INTERVAL.as_millis());
    Cluster::start_with(nodes, |conf| conf.with("ozone.block.deleting.service.interval", &interval))
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_blocks_are_gone_and_their_space_comes_back() {
    let cluster = quick(3).await;
    let mut pipe = cluster.pipeline().await;
    let data = bytes(1, 4 << 20);
    let mut ids = Vec::new();
    for local in 1..=4 {
        ids.push(pipe.put_large(block(1, local), &data, 1 << 20).await.unwrap());
    }
    for local in 101..=200 {
        ids.push(pipe.put_small(block(1, local), data.slice(..20_000)).await.unwrap());
    }
    for node in cluster.ids() {
        cluster.scm.scm.send_close_container(node, 1, pipe.id, false);
    }
    for node in cluster.ids() {
        cluster.scm.scm.wait_for_replica(node, 1, State::Closed).await;
    }
    let deleted: Vec<i64> = (1..=3).chain(101..=199).collect();
    for (index, node) in cluster.ids().into_iter().enumerate() {
        let before = space(&cluster.nodes[index].dir);
        assert!(cluster.scm.scm.delete_blocks(node, 1, 7, &deleted).await);
        // The transaction is durable when it is acknowledged; the blocks go soon after.
        until("the blocks to go", async || {
            let gone = pipe.get_block(node, ids[0]).await;
            gone.is_err_and(|gone| gone.code() == Some(ResultCode::NoSuchBlock))
        })
        .await;
        until("the space to come back", async || {
            space(&cluster.nodes[index].dir) < before - (12 << 20)
        })
        .await;
        assert_eq!(pipe.get_large(node, ids[3]).await.unwrap(), data);
        assert_eq!(pipe.get_small(node, *ids.last().unwrap()).await.unwrap(), data.slice(..20_000));
        // SCM repeats what it does not know to be done.
        assert!(cluster.scm.scm.delete_blocks(node, 1, 7, &deleted).await);
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_blocks_stay_deleted_after_a_restart() {
    let mut cluster = quick(1).await;
    let mut pipe = cluster.pipeline().await;
    let node = pipe.leader;
    let id = pipe.put_small(block(1, 1), bytes(1, 1_000)).await.unwrap();
    let kept = pipe.put_small(block(1, 2), bytes(2, 1_000)).await.unwrap();
    assert!(cluster.scm.scm.delete_blocks(node, 1, 1, &[1]).await);
    cluster.node(node).stop().await;
    cluster.node(node).restart().await;
    let pipe = cluster.pipe(pipe.id, node);
    assert_eq!(pipe.eventually(|| pipe.get_small(node, kept)).await, bytes(2, 1_000));
    assert_eq!(pipe.get_block(node, id).await.unwrap_err().code(), Some(ResultCode::NoSuchBlock));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_that_is_deleted_before_it_comes_does_not_appear() {
    let cluster = quick(1).await;
    let mut pipe = cluster.pipeline().await;
    let node = pipe.leader;
    pipe.put_small(block(1, 1), bytes(1, 10)).await.unwrap();
    // As on a replica that has not come to the block's entry yet. A block that comes before the
    // service has carried the deletion out is there until it does.
    let mut before_it_came = false;
    for tx in 1..=20 {
        let local = 55 + tx as u64;
        assert!(cluster.scm.scm.delete_blocks(node, 1, tx, &[local as i64]).await);
        tokio::time::sleep(3 * INTERVAL).await;
        let late = pipe.put_small(block(1, local), bytes(2, 10)).await.unwrap();
        if let Err(gone) = pipe.get_block(node, late).await {
            assert_eq!(gone.code(), Some(ResultCode::NoSuchBlock));
            before_it_came = true;
            break;
        }
    }
    assert!(before_it_came, "none of twenty was deleted before it came");
    // A replica that is not here is not said to be rid of its blocks: SCM asks those that have one.
    assert!(!cluster.scm.scm.delete_blocks(node, 44, 2, &[1]).await);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_container_is_reported_and_leaves_nothing() {
    let mut cluster = quick(1).await;
    let mut pipe = cluster.pipeline().await;
    let node = pipe.leader;
    pipe.put_large(block(1, 1), &bytes(1, 4 << 20), 1 << 20).await.unwrap();
    cluster.scm.scm.send_close_container(node, 1, pipe.id, false);
    cluster.scm.scm.wait_for_replica(node, 1, State::Closed).await;
    let before = space(&cluster.nodes[0].dir);
    cluster.scm.scm.send_delete_container(node, 1);
    cluster.scm.scm.wait_for_replica(node, 1, State::Deleted).await;
    until("the space to come back", async || space(&cluster.nodes[0].dir) + (4 << 20) <= before)
        .await;
    cluster.node(node).stop().await;
    cluster.node(node).restart().await;
    let pipe = cluster.pipe(pipe.id, node);
    let gone = pipe.get_block(node, block(1, 1)).await.unwrap_err();
    assert_eq!(gone.code(), Some(ResultCode::ContainerNotFound));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_that_is_deleted_while_its_client_writes_on_does_not_come_back() {
    let cluster = quick(1).await;
    let mut pipe = cluster.pipeline().await;
    let (node, id) = (pipe.leader, block(1, 1));
    let parts = [bytes(1, 1 << 20), bytes(2, 1 << 20)];
    let first = chunk_info(id, 1, 0, &parts[0]);
    let second = chunk_info(id, 2, 1 << 20, &parts[1]);
    pipe.write_chunk(id, &first, parts[0].clone()).await.unwrap();
    pipe.put_block(id, vec![first.clone()], false).await.unwrap();
    // As when another client deletes the key that this one has flushed.
    let dir = &cluster.nodes[0].dir;
    let before = space(dir);
    assert!(cluster.scm.scm.delete_blocks(node, 1, 1, &[1]).await);
    until("its space to come back", async || space(dir) + (1 << 20) <= before).await;
    pipe.write_chunk(id, &second, parts[1].clone()).await.unwrap();
    let put = pipe.put_block(id, vec![first, second], true).await.unwrap();
    let gone = pipe.get_block(node, put).await.map(|_| ()).unwrap_err();
    assert_eq!(gone.code(), Some(ResultCode::NoSuchBlock));
    until("the rest to go", async || space(dir) + (1 << 20) <= before).await;
    cluster.stop().await;
}
