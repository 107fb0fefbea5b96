//! Proposals of Raft groups: codec, log, event loop and apply threads together, without fsyncs, so
//! that the disk is not measured.

#[path = "../../examples/bench/nothing.rs"]
mod nothing;

use std::time::Duration;

use bytes::Bytes;
use criterion::{Criterion, Throughput};
use multiraft::memory::MemoryNetwork;
use multiraft::{Group, GroupConfig, HostOptions, LogHandle, LogOptions, Peer, Proposal, RaftHost};
use tokio::runtime::Runtime;
use uuid::Uuid;

use self::nothing::Nothing;
use crate::cpu::CpuTime;

/// Proposals per iteration: they share writes, as on a busy server.
const PROPOSALS: usize = 64;
const BYTES: usize = 200;

pub fn benchmarks(c: &mut Criterion<CpuTime>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let mut group = c.benchmark_group("multiraft");
    group.throughput(Throughput::Elements(PROPOSALS as u64));
    for replicas in [1, 3] {
        let dir = tempfile::tempdir().expect("a directory");
        let members = runtime.block_on(Members::start(replicas, dir.path()));
        group.bench_function(format!("{PROPOSALS} proposals, {replicas} replicas"), |b| {
            b.iter(|| members.propose(&runtime));
        });
        runtime.block_on(members.stop());
    }
    group.finish();
}

/// A group whose members are hosts of this process over an in-memory network.
struct Members {
    hosts: Vec<(RaftHost, LogHandle)>,
    groups: Vec<Group>,
    /// Must stay alive to carry their messages.
    _network: MemoryNetwork,
}

impl Members {
    async fn start(count: usize, dir: &std::path::Path) -> Self {
        let network = MemoryNetwork::new();
        let nodes: Vec<Uuid> = (0..count).map(|_| Uuid::new_v4()).collect();
        let peer = |(n, node): (usize, &Uuid)| Peer {
            node: *node,
            address: node.to_string(),
            priority: i64::from(n == 0),
        };
        let peers: Vec<Peer> = nodes.iter().enumerate().map(peer).collect();
        let id = Uuid::new_v4();
        let (mut hosts, mut groups) = (Vec::new(), Vec::new());
        for node in &nodes {
            let host = RaftHost::start(HostOptions::new(*node), network.transport(*node));
            let host = host.expect("a host");
            network.attach(&host);
            let options = LogOptions { fsync: false, ..LogOptions::default() };
            let log = host.open_log(&dir.join(node.to_string()), options).expect("a log");
            let config = GroupConfig::new(id, *node, peers.clone(), log.clone());
            groups.push(host.start_group(config, Box::new(Nothing::default())).expect("a group"));
            hosts.push((host, log));
        }
        groups[0].leader_changes().wait_for(|now| now.ready).await.expect("a leader");
        Self { hosts, groups, _network: network }
    }

    /// Waits until all proposals are applied, with retries after a change of leader on a busy
    /// machine.
    fn propose(&self, runtime: &Runtime) {
        let entry = Bytes::from(vec![7; BYTES]);
        runtime.block_on(async {
            let mut missing = PROPOSALS;
            while missing > 0 {
                let Some(leader) = self.groups.iter().find(|group| group.leader().ready) else {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    continue;
                };
                let submit = |_| leader.submit(Proposal::new(entry.clone())).ok();
                let waiting: Vec<_> = (0..missing).filter_map(submit).collect();
                for answer in waiting {
                    missing -= usize::from(matches!(answer.await, Ok(Ok(_))));
                }
            }
        });
    }

    async fn stop(self) {
        for (host, log) in self.hosts {
            host.shutdown().await;
            log.close();
        }
    }
}
