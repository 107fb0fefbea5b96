//! Erasure-coded keys on DataNodes as processes: what is lost is rebuilt, twice over, and what
//! comes back is too many.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use client::{BucketSpec, Client, ScmClient};
use proto::hdds::LifeCycleState;
use proto::ozone::BucketLayoutProto;
use testkit::until;
use types::{ContainerId, ReplicationConfig};

use super::cluster::{Cluster, containers, dead};
use super::ledger::Ledger;
use super::{BUCKET, VOLUME, runtime};

/// Five for the indexes, two to rebuild them on.
const NODES: usize = 7;

/// Indexes of rs-3-2.
const INDEXES: [i64; 5] = [1, 2, 3, 4, 5];

async fn make_bucket(client: &Client) {
    client.create_volume(VOLUME, None, -1, -1).await.unwrap();
    let spec = BucketSpec {
        layout: Some(BucketLayoutProto::ObjectStore),
        replication: Some(ReplicationConfig::Ec("rs-3-2-512k".parse().unwrap())),
        ..BucketSpec::default()
    };
    client.create_bucket(VOLUME, BUCKET, spec).await.unwrap();
}

/// Containers with blocks, and the nodes of their CLOSED replicas by index.
async fn indexes(scm: &ScmClient) -> BTreeMap<ContainerId, Vec<(i64, String)>> {
    let mut found = BTreeMap::new();
    for (id, state, keys) in containers(scm).await {
        if keys == 0 || matches!(state, LifeCycleState::Deleted | LifeCycleState::Deleting) {
            continue;
        }
        let replicas = scm.replicas(id).await.unwrap();
        let closed = replicas.iter().filter(|_| state == LifeCycleState::Closed);
        let closed = closed.filter(|r| r.state == "CLOSED");
        let mut all: Vec<_> =
            closed.map(|r| (r.replica_index(), r.datanode_details.host_name.clone())).collect();
        all.sort();
        found.insert(id, all);
    }
    found
}

/// Whether each container with blocks has each index once, none of them on these nodes.
pub async fn is_whole(scm: &ScmClient, without: &[&str]) -> bool {
    let found = indexes(scm).await;
    let report = scm.container_report().await.unwrap();
    let troubles =
        ["UNDER_REPLICATED", "OVER_REPLICATED", "MIS_REPLICATED", "MISSING", "UNHEALTHY"];
    let is_well = |stat: &proto::hdds::KeyIntValue| {
        !troubles.contains(&stat.key.as_str()) || stat.value() == 0
    };
    !found.is_empty()
        && report.stat.iter().all(is_well)
        && found.values().all(|replicas| {
            replicas.iter().map(|(index, _)| *index).eq(INDEXES)
                && !replicas.iter().any(|(_, node)| without.contains(&node.as_str()))
        })
}

#[test]
fn lost_indexes_are_rebuilt_while_others_are_lost_and_what_comes_back_goes() {
    let runtime = runtime();
    let mut cluster = Cluster::start(NODES);
    let (client, scm) = (cluster.client(), cluster.scm_client());
    let ledger = Arc::new(Ledger::default());
    let stop = Arc::new(AtomicBool::new(false));
    runtime.block_on(async {
        until("all nodes are there", async || scm.nodes(None, None).await.unwrap().len() == NODES)
            .await;
        make_bucket(&client).await;
        let writer = tokio::spawn(ledger.clone().write(client.clone(), 0, 11, stop.clone()));
        until("something is written", async || ledger.acknowledged() > 40).await;
        stop.store(true, Ordering::Relaxed);
        let ended = writer.await.unwrap();
        assert!(ended.is_none(), "{ended:?}");
        for (id, state, _) in containers(&scm).await {
            if state == LifeCycleState::Open {
                scm.close_container(id).await.unwrap();
            }
        }
        until("all is closed", async || is_whole(&scm, &[]).await).await;
    });

    // Two nodes are lost with all that they had: as many as there are parities.
    for n in [0, 1] {
        cluster.kill(n);
        std::fs::remove_dir_all(cluster.home(n)).unwrap();
    }
    runtime.block_on(async {
        ledger.verify(&client).await;
        until("it is rebuilt elsewhere", async || is_whole(&scm, &["dn0", "dn1"]).await).await;
        ledger.verify(&client).await;
    });

    // Two more, so that three indexes of five are left, and two empty nodes.
    for n in [2, 3] {
        cluster.kill(n);
    }
    for n in [0, 1] {
        cluster.restart(n);
    }
    runtime.block_on(async {
        ledger.verify(&client).await;
        until("it is rebuilt on the new nodes", async || is_whole(&scm, &["dn2", "dn3"]).await)
            .await;
        ledger.verify(&client).await;
    });

    // These come back with what they had: each index is there once in the end.
    let before = runtime.block_on(indexes(&scm));
    for n in [2, 3] {
        cluster.restart(n);
    }
    runtime.block_on(async {
        until("they are back", async || dead(&scm, 2).await).await;
        until("what is too many is gone", async || {
            let ids = before.keys().copied().collect::<Vec<_>>();
            let all: Vec<_> = (0..NODES).map(|n| cluster.on_disk(n, &["d1", "d2"])).collect();
            let copies = |id: &ContainerId| all.iter().filter(|of| of.contains(id)).count();
            ids.iter().all(|id| copies(id) == INDEXES.len()) && is_whole(&scm, &[]).await
        })
        .await;
        ledger.verify(&client).await;
    });
}
