//! Reads from a whole cluster with one slow disk in one DataNode: client latencies.
//!
//! ```text
//! cargo run --release --example slow_disk_reads -- [DIR] [seconds] [milliseconds a read]
//! ```
//! Three DataNodes, an OM and an SCM in one process; 64 keys of 4 MiB on three replicas each. Then
//! each read of a file of the first DataNode, including its metadata, is delayed by that time
//! (default 2,000 ms), and finds nothing in the page cache. Eight readers read random ranges of 256
//! KiB. Four cases: no fault; the fault; the fault and a client without hedged reads, so that only
//! the DataNode's limit helps; the fault without either.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use client::{BucketSpec, Client, CreateKey, KeyPath};
use config::Configuration;
use hdrhistogram::Histogram;
use server::{Server, ServerOptions};
use testkit::{DelayedReads, delay_reads};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const KEYS: u64 = 64;
const KEY: u64 = 4 << 20;
const RANGE: u64 = 256 << 10;
const READERS: u64 = 8;
/// Longer than any read.
const NEVER: &str = "10m";

/// One case: its name, the DataNodes' limit, the client's hedge delay, the fault.
struct Case {
    name: &'static str,
    limit: &'static str,
    hedge: &'static str,
    is_slow: bool,
}

const CASES: [Case; 4] = [
    Case { name: "no fault", limit: "100ms", hedge: "100ms", is_slow: false },
    Case { name: "slow disk", limit: "100ms", hedge: "100ms", is_slow: true },
    Case { name: "slow disk, no hedge", limit: "100ms", hedge: NEVER, is_slow: true },
    Case { name: "slow disk, no limit, no hedge", limit: "0", hedge: NEVER, is_slow: true },
];

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let base = args.next().map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let seconds: u64 = args.next().map_or(Ok(20), |n| n.parse())?;
    let delay: u64 = args.next().map_or(Ok(2_000), |n| n.parse())?;
    std::fs::create_dir_all(&base)?;
    let runtime = tokio::runtime::Runtime::new()?;
    for case in &CASES {
        let times = Times { all: Duration::from_secs(seconds), slow: Duration::from_millis(delay) };
        runtime.block_on(run(&base, case, times))?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Times {
    all: Duration,
    slow: Duration,
}

async fn run(base: &Path, case: &Case, times: Times) -> Outcome<()> {
    let dir = tempfile::TempDir::new_in(base)?;
    let mut conf = Configuration::builder().build()?;
    for (key, value) in [
        ("trioxide.server.ports", "free"),
        ("trioxide.datanode.read.limit", case.limit),
        ("trioxide.client.hedge.after", case.hedge),
        ("hdds.datanode.volume.min.free.space", "1MB"),
    ] {
        conf = conf.with(key, value);
    }
    let options = ServerOptions {
        dir: dir.path().to_path_buf(),
        oms: None,
        scms: None,
        datanodes: Some(3),
        disks: None,
        bind: "127.0.0.1".to_owned(),
        conf,
        credentials: None,
    };
    let server = Server::start(options).await?;
    let conf = server.client_configuration().with("trioxide.client.hedge.after", case.hedge);
    let client = Arc::new(Client::connect(&conf)?);
    client.create_volume("volume", None, -1, -1).await?;
    client.create_bucket("volume", "bucket", BucketSpec::default()).await?;
    let data = Bytes::from((0..KEY).map(|i| ((i * 31) >> 3) as u8).collect::<Vec<_>>());
    for number in 0..KEYS {
        client.put_key(CreateKey::new(path(number)), data.clone()).await?;
    }
    let sick = server.directory().datanode_disk(1, 1).display().to_string();
    let delayed = case.is_slow.then(|| delay_reads(&sick, times.slow));
    let until = Instant::now() + times.all;
    let readers = (0..READERS).map(|seed| tokio::spawn(read(Arc::clone(&client), seed, until)));
    let mut all = Histogram::<u64>::new(3)?;
    for reader in readers.collect::<Vec<_>>() {
        all.add(reader.await??)?;
    }
    let waited = delayed.as_ref().map_or(0, DelayedReads::met);
    let at = |quantile| all.value_at_quantile(quantile) as f64 / 1_000.0;
    println!(
        "{:32} {:6} reads, p50 {:8.1} ms, p90 {:8.1} ms, p99 {:8.1} ms, longest {:8.1} ms; \
         {waited} reads met the slow disk",
        case.name,
        all.len(),
        at(0.5),
        at(0.9),
        at(0.99),
        all.max() as f64 / 1_000.0
    );
    let name = case.name.replace(", ", "-").replace(' ', "-");
    benchmark::record(&format!("slow-disk/{name}/p99"), at(0.99), "ms");
    drop(delayed);
    server.shutdown().await;
    Ok(())
}

fn path(number: u64) -> KeyPath {
    KeyPath::new("volume", "bucket", format!("key-{number}"))
}

/// Reads until the time is up; returns microseconds of each read.
async fn read(client: Arc<Client>, seed: u64, until: Instant) -> Outcome<Histogram<u64>> {
    let mut times = Histogram::new(3)?;
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while Instant::now() < until {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        let (key, range) = ((state >> 33) % KEYS, (state >> 45) % (KEY / RANGE));
        let begun = Instant::now();
        let reader = client.open_key(&path(key)).await?;
        let bytes = reader.read(range * RANGE..(range + 1) * RANGE).await?;
        times.record(u64::try_from(begun.elapsed().as_micros())?)?;
        if bytes.len() as u64 != RANGE {
            return Err(format!("{} bytes", bytes.len()).into());
        }
    }
    Ok(times)
}
