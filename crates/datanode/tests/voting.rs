//! A replica confirms what it has stored, and nothing else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use proto::datanode::Result as ResultCode;
use proto::scm_datanode::container_replica_proto::State;
use testkit::until;
use types::{BlockId, DatanodeId};

use crate::support::{Cluster, Pipe, Problem, block, bytes};

/// Longer than blocks that are packed or stored in the log.
const LARGE: usize = 1 << 20;

/// Writes a block of container 1, by turns a small and a large one.
async fn put(pipe: &mut Pipe, local: u64) -> Result<(BlockId, Bytes), Problem> {
    let data = bytes(local, if local % 2 == 0 { LARGE } else { 700 });
    let put = match local % 2 {
        0 => pipe.put_large(block(1, local), &data, LARGE / 2).await?,
        _ => pipe.put_small(block(1, local), data.clone()).await?,
    };
    Ok((put, data))
}

fn others(cluster: &Cluster, but: DatanodeId) -> Vec<DatanodeId> {
    cluster.ids().into_iter().filter(|id| *id != but).collect()
}

/// Returns `true` if a replica is CLOSED or QUASI_CLOSED.
fn has_ended(cluster: &Cluster, node: DatanodeId) -> bool {
    cluster.scm.scm.with(|known| {
        let replica = known.replicas.get(&(node, 1));
        replica.is_some_and(|r| matches!(r.state(), State::Closed | State::QuasiClosed))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_a_leader_that_scm_did_not_hear() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let leader = pipe.leader;
    let mut written = vec![put(&mut pipe, 1).await.unwrap(), put(&mut pipe, 2).await.unwrap()];
    // SCM misses the leader, and has the reachable members close the container.
    cluster.scm.scm.cut(leader);
    for node in others(&cluster, leader) {
        cluster.scm.scm.send_close_container(node, 1, pipe.id, false);
    }
    let mut more = 0;
    for local in 3.. {
        match put(&mut pipe, local).await {
            Ok(acknowledged) => written.push(acknowledged),
            Err(problem) => {
                let refused = [ResultCode::ClosedContainerIo, ResultCode::ContainerNotOpen];
                assert!(problem.code().is_some_and(|c| refused.contains(&c)), "{problem:?}");
                break;
            }
        }
        if others(&cluster, leader).iter().all(|node| has_ended(&cluster, *node)) {
            more += 1;
        }
        if more == 10 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    until("the replicas to be closed", async || {
        others(&cluster, leader).iter().all(|node| has_ended(&cluster, *node))
    })
    .await;
    let survivors = others(&cluster, leader);
    cluster.node(leader).stop().await;
    for (id, data) in &written {
        for node in &survivors {
            let read = pipe.get_large(*node, *id).await;
            assert_eq!(read.unwrap(), data, "{id} on {node}, of {} blocks", written.len());
        }
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_container_is_closed_although_scm_says_nothing() {
    let cluster = Cluster::start_with(3, |conf| conf.with("ozone.scm.container.size", "4MB")).await;
    let mut pipe = cluster.pipeline().await;
    for local in [2, 4, 6, 8] {
        put(&mut pipe, local).await.unwrap();
    }
    for node in cluster.ids() {
        cluster.scm.scm.wait_for_replica(node, 1, State::Closed).await;
    }
    cluster.stop().await;
}

/// Cuts the files of all blocks below a directory.
fn cut_block_files(dir: &Path) -> usize {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let cut = |path: PathBuf| match path.extension() {
        _ if path.is_dir() => cut_block_files(&path),
        Some(extension) if extension == "block" => {
            std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(10).unwrap();
            1
        }
        _ => 0,
    };
    entries.map(cut).sum()
}

/// One replica's container is damaged, another one is away: writes during that time would be on the
/// leader alone.
async fn a_damaged_replica_does_not_count(local: u64) {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let (first, _) = put(&mut pipe, 2).await.unwrap();
    let [damaged, away] = others(&cluster, pipe.leader)[..] else { unreachable!() };
    pipe.eventually(|| pipe.get_large(damaged, first)).await;
    assert_eq!(cut_block_files(&cluster.node(damaged).dir.clone()), 1);
    pipe.get_large(damaged, first).await.unwrap_err();
    cluster.scm.scm.wait_for_replica(damaged, 1, State::Unhealthy).await;
    cluster.node(away).stop().await;

    let mut other = cluster.pipe(pipe.id, pipe.leader);
    let writing = tokio::spawn(async move { put(&mut other, local).await });
    until("an acknowledgement, or the news that there can be none", async || {
        writing.is_finished() || cluster.scm.scm.with(|known| known.failed.contains_key(&pipe.id))
    })
    .await;
    assert!(!writing.is_finished(), "acknowledged with one copy");

    cluster.node(away).restart().await;
    let (id, data) = writing.await.unwrap().unwrap();
    let pipe = cluster.pipe(pipe.id, pipe.leader);
    for node in [pipe.leader, away] {
        assert_eq!(pipe.eventually(|| pipe.get_large(node, id)).await, data);
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_replica_does_not_count_for_a_large_block() {
    a_damaged_replica_does_not_count(4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_replica_does_not_count_for_a_small_block() {
    a_damaged_replica_does_not_count(3).await;
}
