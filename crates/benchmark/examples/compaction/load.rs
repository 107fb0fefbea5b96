//! The load, and its measurements.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use metastore::{Batch, Durability, IterRange, Preset, Store, Table, TableSpec};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

use crate::variant::Variant;
use crate::{Compaction, maintain};
use anyhow::{Context, Result, anyhow, bail};

/// The table, as in OM.
pub(crate) const TABLE: Table = Table::named("keyTable");
/// Remaining rows of the bucket, after the deleted ones.
const SURVIVORS: u64 = 10_000;
/// Rows per list.
const LISTED: usize = 100;
/// Rows per write.
const BATCH: u64 = 20;
/// Number of live rows of the other clients.
const LIVE_KEYS: usize = 25_000;
/// Bytes of a row's value: those of a key with one block.
const VALUE_BYTES: usize = 300;
/// Pause between two reads.
const READ_INTERVAL: Duration = Duration::from_millis(4);

/// Measurements of one second.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Second {
    /// Seconds since the first deletion.
    pub(crate) at: f64,
    /// Rows per second written by other clients.
    pub(crate) writes: f64,
    /// Rows per second deleted from the bucket.
    pub(crate) deletes: f64,
    /// Median and 99th percentile of the latency of a seek to the bucket's first row, in
    /// milliseconds.
    pub(crate) seek: (f64, f64),
    /// The same for a list.
    pub(crate) list: (f64, f64),
    /// Bytes read and written by compactions so far.
    pub(crate) compacted_bytes: u64,
    /// Seconds of CPU time of the whole process so far.
    pub(crate) cpu: f64,
}

/// Measurements of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Measured {
    pub(crate) seconds: Vec<Second>,
    /// Seconds from the first to the last deletion.
    pub(crate) deleting: f64,
    /// Over the whole run, in milliseconds.
    pub(crate) seek: (f64, f64),
    /// Over the whole run, in milliseconds.
    pub(crate) list: (f64, f64),
    /// From a few seconds after the last deletion on.
    pub(crate) seek_after: (f64, f64),
    /// From a few seconds after the last deletion on.
    pub(crate) list_after: (f64, f64),
    /// Rows per second written by other clients.
    pub(crate) writes: f64,
    /// Rows per second written by other clients during the deletions.
    pub(crate) writes_deleting: f64,
    /// Bytes read and written by compactions, until the end of the last one.
    pub(crate) compacted_bytes: u64,
    /// Seconds of CPU time of the whole process, until the same time.
    pub(crate) cpu: f64,
    /// Tombstones in files at the end.
    pub(crate) tombstones: u64,
}

/// Latencies in microseconds.
struct Latencies {
    seek: Histogram<u64>,
    list: Histogram<u64>,
}

impl Latencies {
    fn new() -> Result<Self> {
        // Up to ten minutes.
        let histogram = || Histogram::new_with_bounds(1, 600_000_000, 3).context("histogram");
        Ok(Self { seek: histogram()?, list: histogram()? })
    }

    fn note(&mut self, seek: Duration, list: Duration) {
        let micros = |d: Duration| u64::try_from(d.as_micros()).unwrap_or(u64::MAX);
        self.seek.saturating_record(micros(seek));
        self.list.saturating_record(micros(list));
    }

    fn add(&mut self, other: &Self) {
        // Both have the same bounds, so it cannot fail.
        let _ = self.seek.add(&other.seek);
        let _ = self.list.add(&other.list);
    }
}

fn quantiles(histogram: &Histogram<u64>) -> (f64, f64) {
    let at = |q| histogram.value_at_quantile(q) as f64 / 1e3;
    (at(0.5), at(0.99))
}

/// State shared by the threads of a run.
#[derive(Default)]
struct Shared {
    done: AtomicBool,
    deleted_all: AtomicBool,
    writes: AtomicU64,
    deletes: AtomicU64,
}

/// The first keys of all buckets.
pub(crate) fn bucket_starts() -> impl Iterator<Item = Vec<u8>> {
    let live = (0..9).map(|i| format!("/bench/live{i}/"));
    let mut starts: Vec<String> =
        live.chain(["/bench/emptied/".into(), "/bench/mix/".into()]).collect();
    starts.sort();
    starts.into_iter().map(String::into_bytes)
}

fn emptied(i: u64) -> String {
    format!("/bench/emptied/key-{i:012}")
}

/// Fills a database, applies the load and measures it.
pub(crate) fn measure(args: &Compaction, variant: &Variant, dir: &Path) -> Result<Measured> {
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let spec = TableSpec::new(TABLE.name(), Preset::Scan);
    let specs = [if variant.in_buckets { spec.in_buckets() } else { spec }];
    let store = Store::open(dir, &specs, &variant.options())?;
    fill(args, &store)?;
    let before = store.metrics();
    let compacted = || {
        let now = store.metrics();
        (now.compaction_read_bytes + now.compaction_written_bytes)
            .saturating_sub(before.compaction_read_bytes + before.compaction_written_bytes)
    };
    let shared = Shared::default();
    let cpu = benchmark::cpu_time();
    let used = || benchmark::cpu_time().saturating_sub(cpu).as_secs_f64();
    let (sender, latencies) = std::sync::mpsc::channel();
    let mut measured = Measured::default();
    std::thread::scope(|scope| {
        let stop = StopOnDrop(&shared.done);
        let deleter = scope.spawn(|| delete(args, &store, &shared));
        let writer = scope.spawn(|| write(args, &store, &shared));
        let reader = scope.spawn(|| read(&store, &shared, sender));
        let maintainer = scope.spawn(|| maintain::maintain(args, variant, &store, &shared.done));
        let outcome = observe(args, &shared, &latencies, &mut measured, &compacted, &used);
        drop(stop);
        let ended = |name: &str| anyhow!("the {name} panicked");
        deleter.join().map_err(|_| ended("deleter"))??;
        writer.join().map_err(|_| ended("writer"))??;
        reader.join().map_err(|_| ended("reader"))??;
        maintainer.join().map_err(|_| ended("maintenance"))??;
        outcome
    })?;
    // RocksDB counts a compaction when it ends.
    measured.compacted_bytes = compacted();
    measured.cpu = used();
    let files = store.table_files(TABLE)?;
    measured.tombstones = files.iter().map(|file| file.deletions).sum();
    Ok(measured)
}

/// Stops the other threads, also if this one fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn fill(args: &Compaction, store: &Store) -> Result<()> {
    let mut random = StdRng::seed_from_u64(1);
    let emptied = (0..args.deletes.saturating_add(SURVIVORS)).map(emptied);
    let live = (0..args.live).map(|i| format!("/bench/live{}/key-{:012}", i % 9, i / 9));
    let mut batch = Batch::new();
    for key in emptied.chain(live) {
        batch.put(TABLE, key, value(&mut random));
        if batch.len() >= 1_000 {
            store.write(std::mem::take(&mut batch), Durability::NoWal)?;
        }
    }
    store.write(batch, Durability::NoWal)?;
    store.flush()?;
    store.compact_table(TABLE)?;
    Ok(())
}

/// A value of which half is compressible.
fn value(random: &mut StdRng) -> Vec<u8> {
    let mut value = vec![b'v'; VALUE_BYTES];
    random.fill_bytes(&mut value[..VALUE_BYTES / 2]);
    value
}

/// Limits the number of rows per second.
struct Pace {
    began: Instant,
    rate: u64,
    rows: u64,
}

impl Pace {
    fn of(rate: u64) -> Self {
        Self { began: Instant::now(), rate, rows: 0 }
    }

    fn wait(&mut self, rows: u64) {
        self.rows += rows;
        if self.rate == 0 {
            return;
        }
        let due = Duration::from_secs_f64(self.rows as f64 / self.rate as f64);
        let ahead = due.saturating_sub(self.began.elapsed());
        if ahead > Duration::from_millis(1) {
            std::thread::sleep(ahead);
        }
    }
}

/// Deletes the bucket's rows from its front.
fn delete(args: &Compaction, store: &Store, shared: &Shared) -> Result<()> {
    let mut pace = Pace::of(args.delete_rate);
    let mut next = 0;
    while next < args.deletes && !shared.done.load(Ordering::Relaxed) {
        let end = next.saturating_add(BATCH).min(args.deletes);
        let mut batch = Batch::new();
        (next..end).for_each(|i| batch.delete(TABLE, emptied(i)));
        store.write(batch, Durability::NoWal)?;
        shared.deletes.fetch_add(end - next, Ordering::Relaxed);
        pace.wait(end - next);
        next = end;
    }
    shared.deleted_all.store(true, Ordering::Relaxed);
    Ok(())
}

/// Creates twenty rows per eight deleted ones while few are live; then equally many.
fn write(args: &Compaction, store: &Store, shared: &Shared) -> Result<()> {
    let mut random = StdRng::seed_from_u64(2);
    let mut live: Vec<u64> = Vec::new();
    let key = |i: u64| format!("/bench/mix/key-{i:020}");
    let mut pace = Pace::of(args.write_rate);
    while !shared.done.load(Ordering::Relaxed) {
        let mut batch = Batch::new();
        for _ in 0..BATCH {
            let deletes = live.len() >= LIVE_KEYS || random.random_ratio(8, 28);
            if deletes && !live.is_empty() {
                let at = random.random_range(0..live.len());
                batch.delete(TABLE, key(live.swap_remove(at)));
            } else {
                let new = random.random();
                batch.put(TABLE, key(new), value(&mut random));
                live.push(new);
            }
        }
        store.write(batch, Durability::NoWal)?;
        shared.writes.fetch_add(BATCH, Ordering::Relaxed);
        pace.wait(BATCH);
    }
    Ok(())
}

/// Seeks the first row of the bucket and lists some of it, repeatedly.
fn read(
    store: &Store,
    shared: &Shared,
    latencies: std::sync::mpsc::Sender<(Duration, Duration)>,
) -> Result<()> {
    while !shared.done.load(Ordering::Relaxed) {
        let seek = list(store, 1)?;
        let listed = list(store, LISTED)?;
        if latencies.send((seek, listed)).is_err() {
            return Ok(());
        }
        std::thread::sleep(READ_INTERVAL);
    }
    Ok(())
}

fn list(store: &Store, rows: usize) -> Result<Duration> {
    let began = Instant::now();
    let snapshot = store.snapshot();
    let mut cursor = snapshot.iter(TABLE, IterRange::prefix("/bench/emptied/"))?;
    cursor.first();
    let mut seen = 0_usize;
    cursor.for_each(|_, _| {
        seen += 1;
        seen < rows
    })?;
    let took = began.elapsed();
    match seen == rows {
        true => Ok(took),
        false => bail!("a list has {seen} rows, not {rows}"),
    }
}

/// Records the measurements of each second until the run ends.
fn observe(
    args: &Compaction,
    shared: &Shared,
    latencies: &std::sync::mpsc::Receiver<(Duration, Duration)>,
    measured: &mut Measured,
    compacted: &dyn Fn() -> u64,
    used: &dyn Fn() -> f64,
) -> Result<()> {
    let began = Instant::now();
    let (mut all, mut after) = (Latencies::new()?, Latencies::new()?);
    let (mut writes, mut deletes) = (0, 0);
    let mut writes_deleting = 0;
    let mut last = began;
    let mut deleted_at: Option<Instant> = None;
    loop {
        let mut second = Latencies::new()?;
        let until = last + Duration::from_secs(1);
        loop {
            match latencies.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((seek, list)) => second.note(seek, list),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => break,
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
                    bail!("the reader ended");
                }
            }
        }
        let now = Instant::now();
        let passed = now.duration_since(last).as_secs_f64();
        let written = shared.writes.load(Ordering::Relaxed);
        let deleted = shared.deletes.load(Ordering::Relaxed);
        if deleted_at.is_none() && shared.deleted_all.load(Ordering::Relaxed) {
            deleted_at = Some(now);
            writes_deleting = written;
            measured.deleting = now.duration_since(began).as_secs_f64();
        }
        // After maintenance had the time of two scans, or half of the measured time.
        let looks = 2.0 * args.interval().max(args.full_interval()).as_secs_f64().min(5.0);
        let settled = looks.min(args.settle as f64 / 2.0);
        if deleted_at.is_some_and(|at| at.elapsed().as_secs_f64() > settled) {
            after.add(&second);
        }
        all.add(&second);
        measured.seconds.push(Second {
            at: now.duration_since(began).as_secs_f64(),
            writes: (written - writes) as f64 / passed,
            deletes: (deleted - deletes) as f64 / passed,
            seek: quantiles(&second.seek),
            list: quantiles(&second.list),
            compacted_bytes: compacted(),
            cpu: used(),
        });
        (writes, deletes, last) = (written, deleted, now);
        if deleted_at.is_some_and(|at| at.elapsed() >= Duration::from_secs(args.settle)) {
            break;
        }
    }
    let total = began.elapsed().as_secs_f64();
    measured.writes = writes as f64 / total;
    measured.writes_deleting = writes_deleting as f64 / measured.deleting.max(1e-9);
    (measured.seek, measured.list) = (quantiles(&all.seek), quantiles(&all.list));
    (measured.seek_after, measured.list_after) = (quantiles(&after.seek), quantiles(&after.list));
    Ok(())
}
