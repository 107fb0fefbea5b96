//! A new node receives its share of the containers while clients write. The same with nodes killed
//! during it is a script of the simulation (`membership/balancer`).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use client::ScmClient;
use proto::container_location::StartContainerBalancerRequestProto;
use proto::hdds::LifeCycleState;
use testkit::until;
use types::ContainerId;

use super::cluster::{Cluster, close_all, containers, is_healed};
use super::ledger::Ledger;
use super::{make_bucket, runtime};
use crate::process::{Daemon, o3, stdout};

const NODES: usize = 3;
/// Bytes that each disk of a DataNode may use; the rest of the file system is reserved.
const DISK: u64 = 96 << 20;

/// The reserved fraction that leaves [`DISK`] bytes of the tests' file system.
fn reserved() -> String {
    let dir = tempfile::tempdir().unwrap();
    let size = blockio::file_system_space(dir.path()).unwrap().capacity;
    format!("{:.12}", 1.0 - DISK as f64 / size as f64)
}

fn utilisation(info: &proto::hdds::DatanodeUsageInfoProto) -> f64 {
    (info.capacity() - info.remaining()) as f64 * 100.0 / info.capacity() as f64
}

async fn utilisations(scm: &ScmClient) -> Vec<f64> {
    scm.usage(true, 100).await.unwrap().iter().map(utilisation).collect()
}

/// Maximum difference of a node from the average.
fn spread(percents: &[f64]) -> f64 {
    let average = percents.iter().sum::<f64>() / percents.len() as f64;
    percents.iter().map(|p| (p - average).abs()).fold(0.0, f64::max)
}

async fn closed(scm: &ScmClient) -> BTreeSet<ContainerId> {
    let all = containers(scm).await.into_iter();
    all.filter(|(_, state, keys)| *state == LifeCycleState::Closed && *keys > 0)
        .map(|(id, _, _)| id)
        .collect()
}

#[test]
fn containers_move_to_a_node_that_came_later_and_none_has_a_replica_fewer() {
    let runtime = runtime();
    let reserved = reserved();
    let settings: &'static [(&'static str, &'static str)] = Box::leak(Box::new([
        ("hdds.datanode.dir.du.reserved.percent", &*Box::leak(reserved.into_boxed_str())),
        ("hdds.datanode.volume.min.free.space", "0"),
        // A container is a smaller part of a disk than the allowed difference between nodes.
        ("ozone.scm.container.size", "4MB"),
        ("ozone.scm.block.size", "2MB"),
    ]));
    let mut cluster = Cluster::start_with(NODES, settings);
    let (client, scm) = (cluster.client(), cluster.scm_client());
    let ledger = Arc::new(Ledger::default());
    let moved = runtime.block_on(async {
        make_bucket(&client).await;
        let stop = Arc::new(AtomicBool::new(false));
        let writer = tokio::spawn(ledger.clone().write(client.clone(), 0, 7, stop.clone()));
        until("the nodes are half full", async || {
            utilisations(&scm).await.iter().all(|percent| *percent > 40.0)
        })
        .await;
        stop.store(true, Ordering::Relaxed);
        assert!(writer.await.unwrap().is_none());
        close_all(&scm).await;
        closed(&scm).await
    });
    assert!(moved.len() > 4, "{moved:?}");

    // The fourth is empty.
    let node = Daemon::start(cluster.datanode(NODES, &[]));
    cluster.datanodes.push(Some(node));
    let start = |request: StartContainerBalancerRequestProto| {
        runtime.block_on(scm.start_container_balancer(request)).unwrap()
    };
    let refused = start(StartContainerBalancerRequestProto {
        exclude_nodes: Some("nowhere".into()),
        ..Default::default()
    });
    assert!(
        !refused.start && refused.message().contains("'nowhere' does not exist"),
        "{refused:?}"
    );
    let scm_address = cluster.scm_address();
    let o3_balancer = |args: &[&str]| {
        let mut command = o3(&["admin", "containerbalancer"]);
        let output = command.args(args).args(["--scm", &scm_address]).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        stdout(&output)
    };
    runtime.block_on(until("it is known", async || utilisations(&scm).await.len() == NODES + 1));
    assert!(o3_balancer(&["status"]).contains("is Not Running"));
    o3_balancer(&["start", "-t", "5", "-d", "100", "-i", "3"]);
    assert!(o3_balancer(&["status"]).contains("is Running"));

    // Clients keep writing.
    let stop = Arc::new(AtomicBool::new(false));
    let writer = runtime.spawn(ledger.clone().write(client.clone(), 1, 7, stop.clone()));
    runtime.block_on(until("something has moved", async || {
        !cluster.on_disk(NODES, &["d1", "d2"]).is_disjoint(&moved)
    }));
    stop.store(true, Ordering::Relaxed);
    assert!(runtime.block_on(writer).unwrap().is_none());
    runtime.block_on(async {
        close_all(&scm).await;
        // It stops when there is nothing to move.
        let again = StartContainerBalancerRequestProto {
            threshold: Some(5.0),
            max_datanodes_percentage_to_involve_per_iteration: Some(100),
            iterations: Some(-1),
            ..Default::default()
        };
        until("nodes are even", async || {
            if !scm.container_balancer_status().await.unwrap().is_running() {
                scm.start_container_balancer(again.clone()).await.unwrap();
            }
            spread(&utilisations(&scm).await) <= 6.0
        })
        .await;
        until("every container is where it should be", async || is_healed(&scm, None).await).await;
        println!("utilisations: {:?}", utilisations(&scm).await);
        ledger.verify(&client).await;
    });
    // An empty container is deleted, and a move may be in progress.
    runtime.block_on(until("every container is on three disks", async || {
        cluster.are_on_three(&closed(&scm).await)
    }));
    let shown = o3_balancer(&["status", "--json"]);
    println!("{shown}");
    o3_balancer(&["stop"]);
    assert!(o3_balancer(&["status"]).contains("is Not Running"));
}
