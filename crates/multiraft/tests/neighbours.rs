//! A slow group does not block another one on the same host.

use std::sync::Arc;

use multiraft::memory::MemoryNetwork;
use multiraft::{Group, GroupConfig, HostOptions, LogHandle, LogOptions, Peer, Proposal, RaftHost};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::support::{Cluster, Recorder, Store, until};

/// Proposes on a group that must not be blocked.
async fn commits_meanwhile(group: &Group) {
    let proposed = group.propose(Proposal::new("meanwhile"));
    testkit::ended("a proposal next to a hanging group", proposed).await.unwrap();
}

async fn alone(host: &RaftHost, log: &LogHandle, store: &Arc<Mutex<Store>>) -> Group {
    let node = host.node();
    let peers = vec![Peer { node, address: node.to_string(), priority: 0 }];
    let config = GroupConfig::new(Uuid::new_v4(), node, peers, log.clone());
    let machine = Recorder { store: store.clone(), dir: None };
    let group = host.start_group(config, Box::new(machine)).unwrap();
    until("it to be the leader", async || group.leader().ready).await;
    group
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_restores_holds_up_nobody_else() {
    let (mut cluster, [leader, follower, _]) = Cluster::with_one_left_behind(false).await;
    let restored = cluster.nodes[follower].store.clone();
    restored.lock().hold_restore = true;
    cluster.start(follower);
    let (host, log) = {
        let node = &cluster.nodes[follower];
        (node.host.clone().unwrap(), node.log.clone().unwrap())
    };
    until("it restores", async || restored.lock().restoring).await;
    let store = Arc::default();
    let other = alone(&host, &log, &store).await;
    commits_meanwhile(&other).await;
    // Work for the group itself is queued in the meantime.
    cluster.put(&[leader], "after").await;
    restored.lock().hold_restore = false;
    cluster.agree(302).await;
    drop((host, log, other));
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_hangs_holds_up_only_the_groups_on_it() {
    let network = MemoryNetwork::new();
    let (dir, node) = (tempfile::tempdir().unwrap(), Uuid::new_v4());
    let host = RaftHost::start(HostOptions::new(node), network.transport(node)).unwrap();
    let open = |name: &str| host.open_log(&dir.path().join(name), LogOptions::default()).unwrap();
    let (bad, good) = (open("bad"), open("good"));
    let (hung, store): (Arc<Mutex<Store>>, Arc<Mutex<Store>>) = Default::default();
    let on_bad = alone(&host, &bad, &hung).await;
    let on_good = alone(&host, &good, &store).await;
    hung.lock().hold_apply = true;
    let waiting = on_bad.submit(Proposal::new("hangs")).unwrap();
    until("it hangs", async || hung.lock().applying).await;
    commits_meanwhile(&on_good).await;
    hung.lock().hold_apply = false;
    waiting.await.unwrap().unwrap();
    host.shutdown().await;
    bad.close();
    good.close();
}
