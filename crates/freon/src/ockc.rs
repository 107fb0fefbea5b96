//! `ockc`: overwrites keys while others read them, and checks consistency.

mod change;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use client::{Client, KeyPath};
use config::Configuration;
use futures::future::join_all;
use proto::ozone::Status;
use rand::RngExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use crate::FreonError;
use crate::args::{TargetArgs, duration, size};
use crate::edition;
use crate::findings::Findings;
use crate::history::{Floor, History, Seen, Verdict};
use crate::runner::prefix;
use crate::target::Target;

/// Pause after a failure, to limit the request rate to a failing cluster.
const RETRY_DELAY: Duration = Duration::from_millis(20);

/// Overwrite keys while others read them, and check that no acknowledged write is lost, no read is
/// stale and all content is complete. Made for tests that kill servers: failed operations are
/// counted, and are no violations. Ends after --duration or at SIGINT or SIGTERM, reads every key
/// once more, and fails if there are violations.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  o3 freon ockc --duration 60s -t 8 --readers 4 --sizes 10KB,300KB,1MB --json"
)]
pub struct Ockc {
    #[command(flatten)]
    target: TargetArgs,
    /// Duration: 30s, 5m, 1h.
    #[arg(long, default_value = "60s", value_parser = duration, value_name = "TIME")]
    duration: Duration,
    /// Number of writers, each with keys of its own.
    #[arg(short = 't', long = "threads", default_value_t = 8, value_name = "N")]
    writers: usize,
    /// Number of readers of all writers' keys.
    #[arg(long, default_value_t = 4, value_name = "N")]
    readers: usize,
    /// Number of keys of each writer.
    #[arg(long, default_value_t = 4, value_name = "N")]
    keys: usize,
    /// Sizes of the versions of a key, used in turn.
    #[arg(long, default_value = "10KB,300KB", value_delimiter = ',', value_parser = size)]
    sizes: Vec<u64>,
    /// Percentage of the changes of a key that delete it.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=50), value_name = "PERCENT")]
    deletes: u32,
    /// Percentage of the changes of a key that delete it and rename another one to it.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=50), value_name = "PERCENT")]
    renames: u32,
    /// Timeout of an operation.
    #[arg(long, default_value = "90s", value_parser = duration, value_name = "TIME")]
    timeout: Duration,
    /// Number of clients, each with its own connections.
    #[arg(long, default_value_t = 4, value_name = "N")]
    clients: usize,
    /// Prefix of the generated names; random by default.
    #[arg(short = 'p', long, default_value = "", value_name = "TEXT")]
    prefix: String,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// An operation that failed.
#[derive(Debug, thiserror::Error)]
enum AttemptError {
    #[error(transparent)]
    Client(#[from] client::Error),
    #[error("timed out after {0:?}")]
    Timeout(Duration),
}

/// State shared by all tasks of a run.
struct Run {
    target: Target,
    sizes: Vec<u64>,
    deletes: u32,
    renames: u32,
    prefix: String,
    timeout: Duration,
    history: History,
    findings: Mutex<Findings>,
    operations: AtomicU64,
    stopped: AtomicBool,
}

/// Runs the generator; any violation makes it fail.
pub(crate) async fn run(args: Ockc, conf: &Configuration) -> Result<ExitCode, FreonError> {
    if args.writers == 0 || args.keys == 0 || args.sizes.is_empty() {
        return Err(FreonError::Usage("--threads, --keys and --sizes must not be empty".into()));
    }
    let prefix = prefix(&args.prefix);
    let target = Target::open(args.clients, &args.target, conf)?;
    target.ensure().await?;
    let began = Instant::now();
    let run = Arc::new(Run {
        target,
        sizes: args.sizes,
        deletes: args.deletes,
        renames: args.renames,
        prefix,
        timeout: args.timeout,
        history: History::new(args.writers * args.keys),
        findings: Mutex::new(Findings::begin(began)),
        operations: AtomicU64::new(0),
        stopped: AtomicBool::new(false),
    });
    let writers = (0..args.writers).map(|writer| {
        let run = run.clone();
        tokio::spawn(async move {
            for turn in (0..args.keys).cycle() {
                if run.stopped() {
                    break;
                }
                let key = writer * args.keys + turn;
                run.change(key).await;
                run.read(key).await;
            }
        })
    });
    let readers = (0..args.readers).map(|_| {
        let run = run.clone();
        tokio::spawn(async move {
            while !run.stopped() {
                let key = rand::rng().random_range(0..run.history.len());
                run.read(key).await;
            }
        })
    });
    let tasks: Vec<_> = writers.chain(readers).collect();
    end_of_load(args.duration).await?;
    run.stopped.store(true, Ordering::Relaxed);
    for ended in join_all(tasks).await {
        ended.map_err(|e| FreonError::Usage(format!("a task failed: {e}")))?;
    }
    let elapsed = began.elapsed();
    run.note(Findings::end);
    for key in 0..run.history.len() {
        run.read_last(key).await;
    }
    run.note(|findings| {
        match args.json {
            true => println!("{}", findings.json(&run.prefix, elapsed)),
            false => print!("{}", findings.text(elapsed)),
        }
        Ok(if findings.good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

/// Waits until the duration is over or a stop is requested.
async fn end_of_load(duration: Duration) -> Result<(), FreonError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(FreonError::Signal)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(FreonError::Signal)?;
    tokio::select! {
        () = tokio::time::sleep(duration) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

impl Run {
    fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn note<T>(&self, change: impl FnOnce(&mut Findings) -> T) -> T {
        change(&mut self.findings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs an operation with one of the clients.
    async fn attempt<T>(
        &self,
        operation: impl AsyncFnOnce(&Client) -> client::Result<T>,
    ) -> Result<T, AttemptError> {
        let client = self.target.client(self.operations.fetch_add(1, Ordering::Relaxed));
        match timeout(self.timeout, operation(client)).await {
            Ok(result) => Ok(result?),
            Err(_) => Err(AttemptError::Timeout(self.timeout)),
        }
    }

    /// Reads the content of a key.
    async fn read_version(&self, key: usize) -> Result<Seen, AttemptError> {
        self.read_version_at(&self.target.key(&self.prefix, key as u64), key).await
    }

    /// Reads the content of a path as a version of a key.
    async fn read_version_at(&self, path: &KeyPath, key: usize) -> Result<Seen, AttemptError> {
        let found = self.attempt(async |client| match client.read_key(path).await {
            // From OM; from a DataNode it would mean a key with lost blocks.
            Err(e) if e.is_status(Status::KeyNotFound) => Ok(None),
            Err(e) => Err(e),
            Ok(content) => Ok(Some(content)),
        });
        Ok(match found.await? {
            None => Seen::Absent,
            Some(content) => edition::read(key as u64, &content, &self.sizes),
        })
    }

    /// Reads a key that may be overwritten concurrently.
    async fn read(&self, key: usize) {
        let floor = self.history.floor(key);
        let began = Instant::now();
        match self.read_version(key).await {
            Ok(seen) => {
                let verdict = self.history.judge(key, floor, seen);
                self.note(|f| {
                    f.read(began, verdict, || self.violation(began, key, floor, seen, verdict))
                });
            }
            Err(e) => {
                self.note(|f| f.read_failed(|| at(began, &format!("read of {key}: {e}"))));
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }

    /// Reads a key after the last write, with time for a cluster to recover.
    async fn read_last(&self, key: usize) {
        let floor = self.history.floor(key);
        let began = Instant::now();
        loop {
            match self.read_version(key).await {
                Ok(seen) => {
                    let verdict = self.history.judge_last(key, seen);
                    return self.note(|f| {
                        f.read(began, verdict, || self.violation(began, key, floor, seen, verdict));
                    });
                }
                Err(e) if began.elapsed() >= self.timeout => {
                    return self.note(|f| {
                        f.unreadable(|| {
                            at(began, &format!("key {key} cannot be read at the end: {e}"))
                        });
                    });
                }
                Err(_) => tokio::time::sleep(RETRY_DELAY).await,
            }
        }
    }

    fn violation(
        &self,
        began: Instant,
        key: usize,
        floor: Floor,
        seen: Seen,
        verdict: Verdict,
    ) -> String {
        let path = self.target.key(&self.prefix, key as u64);
        let known = floor.version();
        let text = format!(
            "{verdict:?}: read of {path} returned {seen:?}, version {known} was there before it began"
        );
        at(began, &text)
    }
}

/// A text with the start time of its operation, in Unix milliseconds.
fn at(began: Instant, text: &str) -> String {
    let since = SystemTime::now().checked_sub(began.elapsed()).unwrap_or(SystemTime::UNIX_EPOCH);
    let unix = since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    format!("{unix} +{} ms: {text}", began.elapsed().as_millis())
}
