//! Rates and CPU time of three DataNodes in one process, written to through one RATIS/THREE
//! pipeline each.
//!
//! `cargo run --release --example dn_bench -- [dir] [seconds] [clients] [pipelines]`
//!
//! The DataNodes run on a runtime of their own, so that their CPU time (that of all threads except
//! the client's) can be separated from the client's.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../../datanode/tests/support/mod.rs"]
#[allow(dead_code, unused_imports)]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use benchmark::record;
use support::{Cluster, Pipe, block, bytes};

/// User and system time of the threads whose name does not begin with `client`, in seconds.
fn server_cpu() -> f64 {
    let mut ticks = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let Ok(stat) = std::fs::read_to_string(task.path().join("stat")) else { continue };
        let (Some(open), Some(close)) = (stat.find('('), stat.rfind(')')) else { continue };
        if stat[open + 1..close].starts_with("client") {
            continue;
        }
        let fields: Vec<&str> = stat[close + 2..].split(' ').collect();
        ticks += fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    }
    ticks as f64 / 100.0
}

struct Load {
    pipes: Vec<(types::PipelineId, types::DatanodeId)>,
    nodes: Vec<(types::DatanodeId, String)>,
    next: Arc<AtomicU64>,
    clients: usize,
    time: Duration,
}

impl Load {
    /// Runs `work` in all clients for the configured time; prints rate, latency and server CPU
    /// time.
    fn run<F, W>(&self, client: &tokio::runtime::Runtime, name: &str, bytes: usize, work: W)
    where
        W: Fn(Pipe, u64) -> F + Send + Sync + 'static + Clone,
        F: Future<Output = Pipe> + Send,
    {
        let cpu = server_cpu();
        let began = Instant::now();
        let mut tasks = Vec::new();
        for index in 0..self.clients {
            let (id, leader) = self.pipes[index % self.pipes.len()];
            let mut pipe = Pipe::new(id, &self.nodes, leader);
            let (next, work, time) = (self.next.clone(), work.clone(), self.time);
            tasks.push(client.spawn(async move {
                let mut latencies = hdrhistogram::Histogram::<u64>::new(3).unwrap();
                while began.elapsed() < time {
                    let start = Instant::now();
                    pipe = work(pipe, next.fetch_add(1, Ordering::Relaxed)).await;
                    latencies.record(start.elapsed().as_micros() as u64).unwrap();
                }
                latencies
            }));
        }
        let mut all = hdrhistogram::Histogram::<u64>::new(3).unwrap();
        for task in tasks {
            all.add(client.block_on(task).unwrap()).unwrap();
        }
        let (time, cpu) = (began.elapsed().as_secs_f64(), server_cpu() - cpu);
        let count = all.len() as f64;
        println!(
            "{name:28} {:9.0}/s {:8.1} MB/s  p50 {:7.2} ms  p99 {:7.2} ms  server CPU {:7.3} ms/op",
            count / time,
            count * bytes as f64 / time / 1e6,
            all.value_at_quantile(0.5) as f64 / 1e3,
            all.value_at_quantile(0.99) as f64 / 1e3,
            cpu * 1e3 / count,
        );
        record(&format!("datanode/{name}"), count / time, "ops/s");
        record(&format!("datanode/{name}, server CPU"), cpu * 1e3 / count, "ms");
    }
}

/// Three sequential durable copies: the disk's upper limit for three replicas.
fn three_copies(dir: &std::path::Path, size: usize) -> f64 {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let data = bytes(1, size + 4096);
    let start = data.as_ptr().align_offset(4096);
    let aligned = &data[start..start + size];
    let began = Instant::now();
    for copy in 0..3 {
        let path = dir.join(format!("copy{copy}"));
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .custom_flags(0x4000)
            .open(&path)
            .unwrap();
        aligned.chunks(4 << 20).for_each(|part| file.write_all(part).unwrap());
        file.sync_data().unwrap();
        std::fs::remove_file(path).unwrap();
    }
    size as f64 / began.elapsed().as_secs_f64() / 1e6
}

fn main() {
    let mut args = std::env::args().skip(1);
    let dir = args.next().unwrap_or_else(|| std::env::temp_dir().display().to_string());
    let mut number = |default: u64| args.next().and_then(|a| a.parse().ok()).unwrap_or(default);
    let (seconds, clients, pipelines) = (number(5), number(16) as usize, number(2));
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("TMPDIR", &dir) };
    let named = |name: &'static str| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name(name)
            .enable_all()
            .build()
            .unwrap()
    };
    let (server, client) = (named("server"), named("client"));
    let cluster = server.block_on(Cluster::start(3));
    let mut pipes = Vec::new();
    for first in 0..pipelines {
        let mut ids = cluster.ids();
        ids.rotate_left(first as usize % 3);
        pipes.push(server.block_on(cluster.scm.scm.create_pipeline(&ids)));
    }
    let nodes: Vec<_> = cluster.nodes.iter().map(|node| (node.id, node.address())).collect();
    let time = Duration::from_secs(seconds);
    let load = Load { pipes, nodes, next: Arc::new(AtomicU64::new(1)), clients, time };
    let container = |pipe: &Pipe, n: u64| {
        // A container belongs to one pipeline.
        pipe.id.0.as_u64_pair().0 % 1_000_000 * 10 + n % 3
    };

    let small = bytes(1, 10_000);
    let written = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let (data, ids) = (small.clone(), written.clone());
    load.run(&client, "10 KB PutSmallFile THREE", 10_000, move |mut pipe, n| {
        let (data, ids) = (data.clone(), ids.clone());
        async move {
            let id = pipe.put_small(block(container(&pipe, n), n), data).await.unwrap();
            ids.lock().push(id);
            pipe
        }
    });
    let ids = written.clone();
    load.run(&client, "10 KB GetSmallFile", 10_000, move |pipe, n| {
        let id = {
            let ids = ids.lock();
            ids[(n.wrapping_mul(7_919) % ids.len() as u64) as usize]
        };
        async move {
            let mut nodes: Vec<_> = pipe.nodes.keys().copied().collect();
            nodes.sort_unstable();
            // A follower may lag for a moment.
            if pipe.get_small(nodes[(n % 3) as usize], id).await.is_err() {
                pipe.get_small(pipe.leader, id).await.unwrap();
            }
            pipe
        }
    });

    const LARGE: usize = 10_000_000;
    let limit = three_copies(std::path::Path::new(&dir), 10 * LARGE);
    println!("{:28} {:12} {limit:8.1} MB/s", "three durable copies", "");
    let large = bytes(2, LARGE);
    let written = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let (data, ids) = (large.clone(), written.clone());
    load.run(&client, "10 MB block THREE", LARGE, move |mut pipe, n| {
        let (data, ids) = (data.clone(), ids.clone());
        async move {
            let id = block(container(&pipe, n), n);
            let id = pipe.put_large(id, &data, 4 << 20).await.unwrap();
            ids.lock().push(id);
            pipe
        }
    });
    println!(
        "{:28} {:12} {:8.1} MB/s",
        "three durable copies",
        "",
        three_copies(std::path::Path::new(&dir), 10 * LARGE)
    );
    let ids = written.clone();
    load.run(&client, "10 MB block read", LARGE, move |pipe, n| {
        let id = {
            let ids = ids.lock();
            ids[(n % ids.len().min(20) as u64) as usize]
        };
        async move {
            let data = pipe.get_block(pipe.leader, id).await.unwrap();
            for chunk in &data.chunks {
                pipe.read_chunk(pipe.leader, id, chunk).await.unwrap();
            }
            pipe
        }
    });
    server.block_on(cluster.stop());
}
