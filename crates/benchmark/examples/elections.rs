//! Time of a group without a leader after the loss of its leader.
//!
//! `elections [--groups N] [--rounds N] [--delay-ms N] [--dir DIR]`
//!
//! Three hosts in one process; all groups are led by the first, whose network is then cut. For each
//! group the time until another member serves is measured. Then the network is repaired, the first
//! becomes leader of all groups again, and the next round begins. `--delay-ms` is the latency of a
//! message.

mod bench;

use std::time::{Duration, Instant};

use benchmark::record;
use multiraft::memory::MemoryNetwork;
use multiraft::{Group, GroupConfig, HostOptions, LogOptions, Peer, RaftHost};
use uuid::Uuid;

use crate::bench::{Nothing, argument, directory};

type Failure = Box<dyn std::error::Error>;

/// OM's default.
const ELECTION_TIMEOUT: Duration = Duration::from_secs(1);

async fn all_led_by_the_first(groups: &[Vec<Group>]) -> Result<(), Failure> {
    for members in groups {
        let first = members.first().ok_or("no members")?;
        first.leader_changes().wait_for(|now| now.ready).await?;
    }
    // All have received a heartbeat, and none is about to transfer leadership.
    tokio::time::sleep(2 * ELECTION_TIMEOUT).await;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let (count, rounds) = (argument("--groups", 200), argument("--rounds", 5));
    let delay = Duration::from_millis(argument("--delay-ms", 0) as u64);
    let dir = tempfile::tempdir_in(directory())?;
    let network = MemoryNetwork::new();
    network.delay(delay);
    let nodes: Vec<Uuid> = (0..3).map(|_| Uuid::new_v4()).collect();
    let (mut hosts, mut logs) = (Vec::new(), Vec::new());
    for node in &nodes {
        let options = HostOptions {
            election_timeout: ELECTION_TIMEOUT,
            heartbeat: ELECTION_TIMEOUT / 5,
            ..HostOptions::new(*node)
        };
        let host = RaftHost::start(options, network.transport(*node))?;
        network.attach(&host);
        logs.push(host.open_log(&dir.path().join(node.to_string()), LogOptions::default())?);
        hosts.push(host);
    }
    let peers: Vec<Peer> = nodes
        .iter()
        .enumerate()
        .map(|(n, node)| Peer {
            node: *node,
            address: node.to_string(),
            priority: i64::from(n == 0),
        })
        .collect();
    let mut groups = Vec::new();
    for _ in 0..count {
        let id = Uuid::new_v4();
        let mut members = Vec::new();
        for ((node, host), log) in nodes.iter().zip(&hosts).zip(&logs) {
            let config = GroupConfig::new(id, *node, peers.clone(), log.clone());
            members.push(host.start_group(config, Box::new(Nothing::default()))?);
        }
        groups.push(members);
    }
    let mut waits: Vec<Duration> = Vec::new();
    for _ in 0..rounds {
        all_led_by_the_first(&groups).await?;
        network.cut(&nodes[..1], &nodes[1..]);
        let began = Instant::now();
        let elected = groups.iter().map(|members| {
            let mut others: Vec<_> = members[1..].iter().map(Group::leader_changes).collect();
            let me: Vec<Uuid> = nodes[1..].to_vec();
            async move {
                let (a, b) = others.split_at_mut(1);
                let (first, second) = (
                    a[0].wait_for(|now| now.ready && now.leader == Some(me[0])),
                    b[0].wait_for(|now| now.ready && now.leader == Some(me[1])),
                );
                tokio::select! { _ = first => {}, _ = second => {} }
                began.elapsed()
            }
        });
        waits.extend(futures::future::join_all(elected).await);
        network.heal();
    }
    waits.sort();
    let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize].as_secs_f64();
    println!(
        "{} elections: p50 {:.2} s, p90 {:.2} s, p99 {:.2} s, max {:.2} s without a leader",
        waits.len(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
    record("multiraft/without a leader, p50", at(0.5), "s");
    record("multiraft/without a leader, p99", at(0.99), "s");
    for host in &hosts {
        host.shutdown().await;
    }
    logs.iter().for_each(multiraft::LogHandle::close);
    Ok(())
}
