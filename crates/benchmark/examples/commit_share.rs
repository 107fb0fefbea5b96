//! Commit rate of groups relative to the syncs of the disk.
//!
//! `commit_share [--proposers N] [--bytes N] [--seconds N] [--rounds N] [--loops N] [--dir DIR]`
//!
//! Three variants take turns on one disk, `--rounds` times: a plain group commit loop (one thread
//! writes the queue into a preallocated file, syncs it with fdatasync and answers the senders), one
//! group, and 30 groups of one replica each. All have the same number of senders, each of which
//! waits for its entry before it sends the next one, and write the same bytes per entry. Groups are
//! measured once their log recycles files, as it does except in its first minutes: before that the
//! file system has to allocate files.

mod bench;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use benchmark::{cpu_time, record};
use bytes::Bytes;
use multiraft::memory::MemoryNetwork;
use multiraft::{Group, GroupConfig, HostOptions, LogOptions, Peer, Proposal, RaftHost};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::bench::{Nothing, argument, directory};

/// As in `o3`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn std::error::Error>;

/// Size of the plain loop's file, which is reused.
const FILE_BYTES: usize = 64 << 20;

/// Time before the measurement of groups starts.
const WARM_UP: Duration = Duration::from_secs(3);

/// Result of a run.
#[derive(Debug, Clone, Copy)]
struct Reached {
    rate: f64,
    /// Entries per disk write.
    batch: f64,
    /// Bytes on disk per entry.
    bytes: f64,
    cpu_micros: f64,
}

#[derive(Debug, Clone, Copy)]
struct Load {
    proposers: usize,
    bytes: usize,
    time: Duration,
}

impl Load {
    /// Makes all proposers call `send` repeatedly; returns the rate, and the CPU time of each call.
    async fn run<F, S>(&self, send: impl Fn(usize) -> S) -> Result<(f64, f64, f64), Failure>
    where
        F: Future<Output = bool> + Send,
        S: Fn() -> F + Send + 'static,
    {
        let done = Arc::new(AtomicU64::new(0));
        let (before, began) = (cpu_time(), Instant::now());
        let end = began + self.time;
        let tasks: Vec<_> = (0..self.proposers)
            .map(|p| (send(p), done.clone()))
            .map(|(send, done)| async move {
                while Instant::now() < end && send().await {
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
            .map(tokio::spawn)
            .collect();
        for task in tasks {
            task.await?;
        }
        let count = done.load(Ordering::Relaxed) as f64;
        let micros = (cpu_time() - before).as_secs_f64() * 1e6 / count;
        Ok((count, count / began.elapsed().as_secs_f64(), micros))
    }
}

struct Queued {
    entry: Bytes,
    answer: oneshot::Sender<()>,
}

/// The reference loop; returns the number of its syncs.
fn write_loop(file: &File, entries: &mpsc::Receiver<Queued>) -> std::io::Result<u64> {
    let (mut at, mut syncs) = (0, 0);
    let (mut buffer, mut answers) = (Vec::new(), Vec::new());
    while let Ok(first) = entries.recv() {
        buffer.clear();
        for queued in std::iter::once(first).chain(entries.try_iter()) {
            buffer.extend_from_slice(&queued.entry);
            answers.push(queued.answer);
        }
        if at + buffer.len() > FILE_BYTES {
            at = 0;
        }
        file.write_all_at(&buffer, at as u64)?;
        file.sync_data()?;
        at += buffer.len();
        syncs += 1;
        for answer in answers.drain(..) {
            let _ = answer.send(());
        }
    }
    Ok(syncs)
}

async fn bare(load: Load, bytes: usize, dir: &Path) -> Result<Reached, Failure> {
    let file = File::options().create(true).write(true).truncate(true).open(dir.join("bare"))?;
    file.write_all_at(&vec![1; FILE_BYTES], 0)?;
    file.sync_all()?;
    let (queue, entries) = mpsc::channel::<Queued>();
    let writer = std::thread::spawn(move || write_loop(&file, &entries));
    let (count, rate, cpu_micros) = load
        .run(|p| {
            let (queue, entry) = (queue.clone(), Bytes::from(vec![p as u8; bytes]));
            move || {
                let (answer, answered) = oneshot::channel();
                let sent = queue.send(Queued { entry: entry.clone(), answer }).is_ok();
                async move { sent && answered.await.is_ok() }
            }
        })
        .await?;
    drop(queue);
    let syncs = writer.join().map_err(|_| "the bare loop panicked")??;
    Ok(Reached { rate, batch: count / syncs as f64, bytes: bytes as f64, cpu_micros })
}

async fn groups(load: Load, count: usize, dir: &Path) -> Result<Reached, Failure> {
    let network = MemoryNetwork::new();
    let node = Uuid::new_v4();
    let threads = argument("--loops", 1);
    let options =
        HostOptions { loop_threads: threads, apply_threads: threads, ..HostOptions::new(node) };
    let host = RaftHost::start(options, network.transport(node))?;
    let options = LogOptions {
        file_size: 4 << 20,
        purge_threshold: 16 << 20,
        purge_interval: Duration::from_millis(100),
        ..LogOptions::default()
    };
    let log = host.open_log(&dir.join(format!("groups-{count}")), options)?;
    let peer = Peer { node, address: String::from("here"), priority: 0 };
    let mut running: Vec<Group> = Vec::new();
    for _ in 0..count {
        let config = GroupConfig::new(Uuid::new_v4(), node, vec![peer.clone()], log.clone());
        let group = host.start_group(config, Box::new(Nothing::default()))?;
        group.leader_changes().wait_for(|l| l.ready).await?;
        running.push(group);
    }
    let figures = || {
        let metrics = log.metrics();
        [&metrics.writes, &metrics.entries, &metrics.bytes].map(|n| n.load(Ordering::Relaxed))
    };
    let send = |p: usize| {
        let (group, entry) = (running[p % count].clone(), Bytes::from(vec![p as u8; load.bytes]));
        move || {
            let (group, proposal) = (group.clone(), Proposal::new(entry.clone()));
            async move { group.propose(proposal).await.is_ok() }
        }
    };
    Load { time: WARM_UP, ..load }.run(send).await?;
    let before = figures();
    let (_, rate, cpu_micros) = load.run(send).await?;
    let after = figures();
    let [writes, entries, bytes] = [0, 1, 2].map(|n| (after[n] - before[n]) as f64);
    host.shutdown().await;
    log.close();
    Ok(Reached { rate, batch: entries / writes, bytes: bytes / entries, cpu_micros })
}

fn mean(all: &[Reached], of: impl Fn(&Reached) -> f64) -> f64 {
    all.iter().map(of).sum::<f64>() / all.len() as f64
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let load = Load {
        proposers: argument("--proposers", 64),
        bytes: argument("--bytes", 200),
        time: Duration::from_secs(argument("--seconds", 3) as u64),
    };
    let parent = directory();
    let (mut loops, mut one, mut thirty) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..argument("--rounds", 3) {
        let dir = tempfile::tempdir_in(&parent)?;
        one.push(groups(load, 1, dir.path()).await?);
        let bytes = mean(&one, |r| r.bytes).round() as usize;
        loops.push(bare(load, bytes, dir.path()).await?);
        thirty.push(groups(load, 30, dir.path()).await?);
    }
    let rate = mean(&loops, |r| r.rate);
    for (name, all) in [("bare loop", &loops), ("1 group", &one), ("30 groups", &thirty)] {
        println!(
            "{name}: {:.0} entries/s ({:.0} % of the bare loop), {:.1} entries and {:.0} bytes an fsync, {:.2} us CPU an entry",
            mean(all, |r| r.rate),
            mean(all, |r| r.rate) / rate * 100.0,
            mean(all, |r| r.batch),
            mean(all, |r| r.batch * r.bytes),
            mean(all, |r| r.cpu_micros),
        );
        record(&format!("multiraft/commits of {name}"), mean(all, |r| r.rate), "entries/s");
        record(&format!("multiraft/CPU of a commit of {name}"), mean(all, |r| r.cpu_micros), "us");
    }
    Ok(())
}
