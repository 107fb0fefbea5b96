//! Commit rate and CPU per entry of real groups with real fsyncs.
//!
//! `commit_rate [--groups N] [--replicas 1|3] [--proposers N] [--bytes N] [--seconds N]
//! [--dir DIR] [--no-fsync] [--idle]`
//!
//! With `--idle` nothing is proposed: the output is the cost of idle groups. Three replicas run as
//! three hosts of this process over an in-memory network, so the CPU time is that of all three
//! together.

mod bench;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use benchmark::{cpu_time, record};
use bytes::Bytes;
use multiraft::memory::MemoryNetwork;
use multiraft::{GroupConfig, HostOptions, LogOptions, Peer, Proposal, RaftHost};
use uuid::Uuid;

use crate::bench::{Nothing, argument, directory, flag};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (groups, replicas) = (argument("--groups", 1), argument("--replicas", 1));
    let (proposers, bytes) = (argument("--proposers", 64), argument("--bytes", 200));
    let seconds = argument("--seconds", 5);
    let parent = directory();
    let network = MemoryNetwork::new();
    let nodes: Vec<Uuid> = (0..replicas).map(|_| Uuid::new_v4()).collect();
    let mut hosts = Vec::new();
    let mut dirs = Vec::new();
    for node in &nodes {
        let host = RaftHost::start(HostOptions::new(*node), network.transport(*node))?;
        network.attach(&host);
        let dir = tempfile::tempdir_in(&parent)?;
        let options = LogOptions { fsync: !flag("--no-fsync"), ..LogOptions::default() };
        let log = host.open_log(&dir.path().join("log"), options)?;
        dirs.push(dir);
        hosts.push((host, log));
    }
    let mut leaders = Vec::new();
    for g in 0..groups {
        let id = Uuid::new_v4();
        let peer = |(n, node): (usize, &Uuid)| Peer {
            node: *node,
            address: node.to_string(),
            priority: i64::from(n == g % replicas),
        };
        let peers: Vec<Peer> = nodes.iter().enumerate().map(peer).collect();
        for (n, (host, log)) in hosts.iter().enumerate() {
            let config = GroupConfig::new(id, nodes[n], peers.clone(), log.clone());
            let group = host.start_group(config, Box::new(Nothing::default()))?;
            if n == g % replicas {
                leaders.push(group);
            }
        }
    }
    let started = Instant::now();
    for group in &leaders {
        group.leader_changes().wait_for(|l| l.ready).await?;
    }
    println!("{groups} groups elected in {:.1} ms", started.elapsed().as_secs_f64() * 1e3);

    let done = Arc::new(AtomicU64::new(0));
    let (before, began) = (cpu_time(), Instant::now());
    let end = began + Duration::from_secs(seconds as u64);
    if flag("--idle") {
        tokio::time::sleep_until(end.into()).await;
        let share = (cpu_time() - before).as_secs_f64() / began.elapsed().as_secs_f64();
        println!(
            "idle: {groups} groups x {replicas} replicas cost {:.2} % of a core",
            share * 100.0
        );
        let name = format!("multiraft/CPU of {groups} idle groups x {replicas}");
        record(&name, share * 100.0, "% of a core");
    } else {
        let mut tasks = Vec::new();
        for p in 0..proposers {
            let group = leaders[p % groups].clone();
            let done = done.clone();
            let header = Bytes::from(vec![p as u8; bytes]);
            tasks.push(tokio::spawn(async move {
                while Instant::now() < end {
                    if group.propose(Proposal::new(header.clone())).await.is_err() {
                        return;
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        for task in tasks {
            task.await?;
        }
        let (elapsed, used) = (began.elapsed().as_secs_f64(), cpu_time() - before);
        let count = done.load(Ordering::Relaxed);
        let (rate, micros) = (count as f64 / elapsed, used.as_secs_f64() * 1e6 / count as f64);
        println!(
            "{groups} groups x {replicas} replicas, {proposers} proposers, {bytes} B: {rate:.0} entries/s, {micros:.2} us CPU each",
        );
        let load = format!("{groups} groups x {replicas}, {proposers} proposers, {bytes} B");
        record(&format!("multiraft/commits, {load}"), rate, "entries/s");
        record(&format!("multiraft/CPU of a commit, {load}"), micros, "us");
        let metrics = hosts[0].1.metrics();
        let writes = metrics.writes.load(Ordering::Relaxed);
        let entries = metrics.entries.load(Ordering::Relaxed);
        println!(
            "{:.0} fsyncs/s, {:.1} entries each, {:.3} ms each",
            writes as f64 / elapsed,
            entries as f64 / writes as f64,
            metrics.nanos.load(Ordering::Relaxed) as f64 / 1e6 / writes as f64
        );
    }
    for (host, log) in hosts {
        host.shutdown().await;
        log.close();
    }
    Ok(())
}
