//! The types of data directories are changed in a cluster with data: replicas are moved to disks of
//! the right type, on their node or on another one.

use std::collections::BTreeSet;

use client::ScmClient;
use testkit::until;
use types::{ContainerId, StorageType};

use super::cluster::{Cluster, close_all, containers, is_healed};
use super::ledger::Ledger;
use super::{make_bucket, runtime};
use crate::process::Daemon;

const SETTINGS: &[(&str, &str)] = &[
    ("hdds.datanode.disk.balancer.service.interval", "1s"),
    ("hdds.datanode.disk.balancer.replica.deletion.delay", "1s"),
];

/// Restarts a node with disks of these types.
fn with_types(cluster: &mut Cluster, n: usize, types: [&str; 2]) {
    cluster.kill(n);
    let home = cluster.home(n);
    let [first, second] = types;
    let dirs = format!("[{first}]{0}/d1,[{second}]{0}/d2", home.display());
    let node = Daemon::start(cluster.datanode(n, &[("hdds.datanode.dir", &dirs)]));
    cluster.datanodes[n] = Some(node);
}

async fn with_blocks(scm: &ScmClient) -> BTreeSet<ContainerId> {
    let all = containers(scm).await.into_iter();
    all.filter(|(_, _, keys)| *keys > 0).map(|(id, _, _)| id).collect()
}

/// Returns `true` if SCM has three replicas of each container, all on disks of type DISK.
async fn all_on_disk(scm: &ScmClient, ids: &BTreeSet<ContainerId>) -> bool {
    for id in ids {
        let replicas = scm.replicas(*id).await.unwrap();
        let disk = |of: Option<i32>| of.is_none_or(|of| of == StorageType::Disk.to_wire() as i32);
        if replicas.len() != 3 || !replicas.iter().all(|r| disk(r.storage_type)) {
            return false;
        }
    }
    true
}

#[test]
fn replicas_on_disks_of_another_type_are_brought_to_the_right_ones() {
    let runtime = runtime();
    let mut cluster = Cluster::start_with(3, SETTINGS);
    let (client, scm) = (cluster.client(), cluster.scm_client());
    let ledger = Ledger::default();
    let ids = runtime.block_on(async {
        make_bucket(&client).await;
        ledger.put_new(&client, 70).await;
        close_all(&scm).await;
        with_blocks(&scm).await
    });
    let on = |cluster: &Cluster, n: usize, disk: &str| {
        cluster.on_disk(n, &[disk]).intersection(&ids).copied().collect::<BTreeSet<_>>()
    };
    // The other disk of the node is of the right type.
    let (wrong, right, types) = match on(&cluster, 0, "d1").is_empty() {
        true => ("d2", "d1", ["DISK", "SSD"]),
        false => ("d1", "d2", ["SSD", "DISK"]),
    };
    assert!(!on(&cluster, 0, wrong).is_empty());
    with_types(&mut cluster, 0, types);
    runtime.block_on(async {
        until("they are on the other disk", async || {
            on(&cluster, 0, right) == ids
                && on(&cluster, 0, wrong).is_empty()
                && all_on_disk(&scm, &ids).await
        })
        .await;
        assert!(is_healed(&scm, None).await);
    });
    // No disk of this node is: the replicas are moved to another node in its rack.
    with_types(&mut cluster, 1, ["SSD", "ARCHIVE"]);
    let fourth = Daemon::start(cluster.datanode(3, &[]));
    cluster.datanodes.push(Some(fourth));
    runtime.block_on(async {
        until("they are on the node that came", async || {
            cluster.on_disk(3, &["d1", "d2"]).is_superset(&ids)
                && cluster.on_disk(1, &["d1", "d2"]).is_disjoint(&ids)
                && all_on_disk(&scm, &ids).await
        })
        .await;
        until("all is as it should be", async || is_healed(&scm, Some("dn1")).await).await;
        ledger.verify(&client).await;
    });
}
