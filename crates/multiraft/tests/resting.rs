//! Idle groups, and groups that were removed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use multiraft::memory::MemoryNetwork;
use multiraft::{Group, GroupConfig, HostOptions, LogHandle, LogOptions, Peer, Proposal, RaftHost};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::support::{Recorder, Store, until};

const TICK: Duration = Duration::from_millis(10);

/// Three hosts with one log each.
struct Hosts {
    _network: MemoryNetwork,
    _dirs: Vec<tempfile::TempDir>,
    nodes: Vec<Uuid>,
    hosts: Vec<RaftHost>,
    logs: Vec<LogHandle>,
}

impl Hosts {
    fn start(options: LogOptions) -> Self {
        let network = MemoryNetwork::new();
        let dirs: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
        let nodes: Vec<Uuid> = (0..3).map(|_| Uuid::new_v4()).collect();
        let start = |node: &Uuid| {
            let options = HostOptions {
                tick: TICK,
                heartbeat: TICK * 5,
                // Longer than any pause of the machine: the leader stays the leader.
                election_timeout: Duration::from_secs(60),
                ..HostOptions::new(*node)
            };
            let host = RaftHost::start(options, network.transport(*node)).unwrap();
            network.attach(&host);
            host
        };
        let hosts: Vec<RaftHost> = nodes.iter().map(start).collect();
        let open = |(host, dir): (&RaftHost, &tempfile::TempDir)| {
            host.open_log(&dir.path().join("log"), options.clone()).unwrap()
        };
        let logs = hosts.iter().zip(&dirs).map(open).collect();
        Self { _network: network, _dirs: dirs, nodes, hosts, logs }
    }

    /// Starts a group on all of them, led by the first.
    fn group(&self, id: Uuid, store: &Arc<Mutex<Store>>) -> Vec<Group> {
        let peer = |(n, node): (usize, &Uuid)| Peer {
            node: *node,
            address: node.to_string(),
            priority: i64::from(n == 0),
        };
        let peers: Vec<Peer> = self.nodes.iter().enumerate().map(peer).collect();
        let start = |n: usize| {
            let config = GroupConfig::new(id, self.nodes[n], peers.clone(), self.logs[n].clone());
            let store = if n == 0 { store.clone() } else { Arc::default() };
            self.hosts[n].start_group(config, Box::new(Recorder { store, dir: None })).unwrap()
        };
        (0..3).map(start).collect()
    }

    fn count(&self, n: usize, name: &str) -> i64 {
        let all = self.hosts[n].metrics().snapshot();
        all.into_iter().find(|(known, _)| *known == name).unwrap().1
    }

    async fn shutdown(&self) {
        for (host, log) in self.hosts.iter().zip(&self.logs) {
            host.shutdown().await;
            log.close();
        }
    }
}

/// Frames are compared with the messages in them, so speed does not matter.
#[tokio::test(flavor = "multi_thread")]
async fn heartbeats_of_all_groups_for_one_node_are_one_message() {
    const GROUPS: i64 = 40;
    let hosts = Hosts::start(LogOptions::default());
    let mut groups = Vec::new();
    for _ in 0..GROUPS {
        let members = hosts.group(Uuid::new_v4(), &Arc::default());
        members[0].leader_changes().wait_for(|l| l.ready).await.unwrap();
        groups.push(members);
        // So that their leaders begin on different ticks.
        tokio::time::sleep(TICK).await;
    }
    until("all members have everything", async || {
        let has = |group: &Group| group.progress().iter().all(|m| m.committed > 0);
        groups.iter().all(|members| has(&members[0]))
    })
    .await;
    // The last ones have sent their first heartbeat.
    let sent = |n: usize| hosts.count(n, "messages_sent");
    let now = sent(0);
    until("two rounds of heartbeats", async || sent(0) >= now + 2 * 2 * GROUPS).await;
    let before: Vec<i64> = (0..3).map(|n| hosts.count(n, "frames_sent")).collect();
    let messages: Vec<i64> = (0..3).map(sent).collect();
    until("twenty rounds of heartbeats", async || sent(0) >= messages[0] + 20 * 2 * GROUPS).await;
    for n in 0..3 {
        let messages = sent(n) - messages[n];
        let frames = hosts.count(n, "frames_sent") - before[n];
        // One to each side may have been in flight at either count.
        assert!(
            frames * GROUPS <= messages + 4 * GROUPS,
            "node {n} sent {messages} messages of {GROUPS} groups in {frames} frames"
        );
    }
    hosts.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_that_are_destroyed_leave_nothing() {
    const AT_ONCE: usize = 20;
    let options = LogOptions {
        file_size: 32 << 10,
        purge_threshold: 32 << 10,
        purge_interval: Duration::from_millis(20),
        ..LogOptions::default()
    };
    let hosts = Hosts::start(options);
    let mut leaders = Vec::new();
    for _ in 0..5 {
        let ids: Vec<Uuid> = (0..AT_ONCE).map(|_| Uuid::new_v4()).collect();
        let groups: Vec<_> = ids.iter().map(|id| hosts.group(*id, &Arc::default())).collect();
        for members in &groups {
            let mut leader = members[0].leader_changes();
            leader.wait_for(|l| l.ready).await.unwrap();
            members[0].propose(Proposal::new(vec![7; 2000])).await.unwrap();
            leaders.push(leader);
        }
        drop(groups);
        for (host, log) in hosts.hosts.iter().zip(&hosts.logs) {
            for id in &ids {
                host.remove_group(*id).await.unwrap();
            }
            assert!(host.groups().is_empty());
            assert!(log.groups().is_empty());
        }
    }
    until("the shared state of the groups to be dropped", async || {
        leaders.iter().all(|leader| leader.has_changed().is_err())
    })
    .await;
    for (n, log) in hosts.logs.iter().enumerate() {
        assert_eq!((hosts.count(n, "groups"), hosts.count(n, "cache_bytes")), (0, 0));
        until("the files of the log to be recycled", async || log.used_bytes() <= 64 << 10).await;
    }
    hosts.shutdown().await;
}

/// Groups of one, some removed and others added, over many files of the log.
#[tokio::test(flavor = "multi_thread")]
async fn what_stays_survives_that_others_come_and_go() {
    const STAYING: usize = 5;
    let options = LogOptions {
        file_size: 16 << 10,
        purge_threshold: 16 << 10,
        purge_interval: Duration::from_millis(5),
        ..LogOptions::default()
    };
    let dir = tempfile::tempdir().unwrap();
    let node = Uuid::new_v4();
    let mut staying: Vec<(Uuid, Arc<Mutex<Store>>)> = Vec::new();
    let start = |host: &RaftHost, log: &LogHandle, id: Uuid, store: Arc<Mutex<Store>>| {
        let peer = Peer { node, address: String::from("here"), priority: 0 };
        let config = GroupConfig::new(id, node, vec![peer], log.clone());
        host.start_group(config, Box::new(Recorder { store, dir: None })).unwrap()
    };
    for round in 0..4 {
        let network = MemoryNetwork::new();
        let host = RaftHost::start(HostOptions::new(node), network.transport(node)).unwrap();
        let log = open(&host, dir.path(), &options);
        let mut known: Vec<Uuid> = log.groups().iter().map(|g| g.id).collect();
        let mut expected: Vec<Uuid> = staying.iter().map(|(id, _)| *id).collect();
        known.sort();
        expected.sort();
        assert_eq!(known, expected, "round {round}");
        for (id, store) in &staying {
            // Nothing was flushed, so all of it comes from the log again.
            let before = std::mem::take(&mut *store.lock()).live.entries;
            let group = start(&host, &log, *id, store.clone());
            settled(&group).await;
            assert_eq!(store.lock().live.entries, before, "round {round}");
        }
        for n in 0..60 {
            let (id, store) = (Uuid::new_v4(), Arc::default());
            let group = start(&host, &log, id, Arc::clone(&store));
            settled(&group).await;
            for entry in 0..3 {
                let text = format!("{round} {n} {entry} {}", "x".repeat(300));
                group.propose(Proposal::new(text)).await.unwrap();
            }
            if n % 12 == 5 && staying.len() < STAYING * (round + 1) {
                staying.push((id, store));
            } else {
                host.remove_group(id).await.unwrap();
            }
        }
        host.shutdown().await;
        log.close();
    }
    assert_eq!(staying.len(), 4 * STAYING);
}

fn open(host: &RaftHost, dir: &Path, options: &LogOptions) -> LogHandle {
    host.open_log(&dir.join("log"), options.clone()).unwrap()
}

/// Waits until the group has a leader here and has applied its log.
async fn settled(group: &Group) {
    group.leader_changes().wait_for(|l| l.ready).await.unwrap();
    group.read_index().await.unwrap();
}
