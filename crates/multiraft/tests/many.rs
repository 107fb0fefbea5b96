//! Many groups on few hosts.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use multiraft::memory::MemoryNetwork;
use multiraft::{Group, GroupConfig, HostOptions, LogOptions, Peer, Proposal, RaftHost};
use uuid::Uuid;

use crate::support::{Recorder, until};

const GROUPS: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_groups_of_three_commit_and_share_frames_and_writes() {
    let network = MemoryNetwork::new();
    let dirs: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let nodes: Vec<Uuid> = (0..3).map(|_| Uuid::new_v4()).collect();
    let start = |n: usize| {
        let options = HostOptions {
            tick: Duration::from_millis(20),
            heartbeat: Duration::from_millis(60),
            election_timeout: Duration::from_millis(600),
            loop_threads: 2,
            ..HostOptions::new(nodes[n])
        };
        let host = RaftHost::start(options, network.transport(nodes[n])).unwrap();
        network.attach(&host);
        host
    };
    let hosts: Vec<RaftHost> = (0..3).map(start).collect();
    let logs: Vec<_> = (0..3)
        .map(|n| hosts[n].open_log(&dirs[n].path().join("log"), LogOptions::default()).unwrap())
        .collect();
    let ids: Vec<Uuid> = (0..GROUPS).map(|_| Uuid::new_v4()).collect();
    let mut groups: Vec<Vec<Group>> = Vec::new();
    let mut stores = Vec::new();
    for (g, id) in ids.iter().enumerate() {
        // Leaders are spread by priority.
        let peer = |n: usize| Peer {
            node: nodes[n],
            address: nodes[n].to_string(),
            priority: i64::from(g % 3 == n),
        };
        let mut members = Vec::new();
        for n in 0..3 {
            let peers = (0..3).map(peer).collect();
            let store = Arc::default();
            stores.push(Arc::clone(&store));
            let machine = Recorder { store, dir: None };
            let config = GroupConfig::new(*id, nodes[n], peers, logs[n].clone());
            members.push(hosts[n].start_group(config, Box::new(machine)).unwrap());
        }
        groups.push(members);
    }
    until("every group has its leader", async || {
        groups.iter().enumerate().all(|(g, members)| members[g % 3].leader().ready)
    })
    .await;
    let proposals = groups.iter().enumerate().flat_map(|(g, members)| {
        (0..20).map(move |n| members[g % 3].propose(Proposal::new(format!("{g} {n}"))))
    });
    for applied in join_all(proposals).await {
        applied.unwrap();
    }
    until("every replica has everything", async || {
        stores.iter().all(|s| s.lock().live.entries.len() == 20)
    })
    .await;
    // Regardless of when an election happens, the preferred member becomes leader again.
    for (g, members) in groups.iter().enumerate() {
        members[g % 3].step_down();
        tokio::time::sleep(Duration::from_millis(7)).await;
    }
    until("every group has its leader again", async || {
        groups.iter().enumerate().all(|(g, members)| members[g % 3].leader().ready)
    })
    .await;
    for (host, log) in hosts.iter().zip(&logs) {
        let metrics: std::collections::HashMap<_, _> =
            host.metrics().snapshot().into_iter().collect();
        assert!(metrics["frames_sent"] * 2 < metrics["messages_sent"], "{metrics:?}");
        let writes = log.metrics().writes.load(std::sync::atomic::Ordering::Relaxed);
        let entries = log.metrics().entries.load(std::sync::atomic::Ordering::Relaxed);
        assert!(writes * 2 < entries, "{writes} writes for {entries} entries");
        assert_eq!(host.list_groups_on(log).len(), GROUPS);
    }
    for (host, log) in hosts.iter().zip(&logs) {
        host.shutdown().await;
        log.close();
    }
}
