//! One log per disk, shared by all groups on it.
//!
//! [`LogHandle`] is the cheap handle; `queue.rs` has what waits for the disk, `write.rs` the
//! thread that writes it, `purge.rs` the one that gives space back, `check.rs` what refuses a
//! damaged directory, `format.rs` the records beside the entries, `regions.rs` the numbers that
//! groups have in the engine. The engine is raft-engine: append-only files, an index in memory,
//! files recycled so that a write does not change file metadata.

mod check;
pub(crate) mod format;
mod purge;
mod queue;
mod regions;
pub(crate) mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use raft::eraftpb::{Entry, HardState};
use raft_engine::{Config, Engine, MessageExt, ReadableSize, RecoveryMode};
use rustc_hash::FxHashMap;
use tokio::sync::oneshot;
use uuid::Uuid;

pub use self::format::PersistedGroup;
use self::queue::WriteQueue;
use self::regions::Regions;
use self::write::{Done, WriteTask};
use crate::error::LogError;
use crate::id::fold;
use crate::inbox::Inbox;
use crate::machine::LogPosition;
use crate::metrics::LogMetrics;
use crate::options::LogOptions;
use crate::turn::event::Event;

/// Lets the engine number Raft's entries.
pub(crate) struct EntryExt;

impl MessageExt for EntryExt {
    type Entry = Entry;

    fn index(entry: &Entry) -> u64 {
        entry.index
    }
}

pub(crate) struct LogCore {
    pub(crate) dir: PathBuf,
    pub(crate) engine: Engine,
    pub(crate) regions: Mutex<Regions>,
    pub(crate) options: LogOptions,
    queue: WriteQueue,
    pub(crate) metrics: Arc<LogMetrics>,
    /// Running groups and the inbox of their loop.
    pub(crate) groups: Mutex<FxHashMap<u64, Arc<Inbox<Event>>>>,
    pub(crate) health: Arc<LogHealth>,
    purge: Inbox<()>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// A log. Cheap to clone; closed with [`close`](Self::close), or soon after the last handle and
/// the last group on it are gone.
#[derive(Clone)]
pub struct LogHandle {
    pub(crate) core: Arc<LogCore>,
    /// The log's threads hold the core as well; this is what only handles hold.
    _owner: Arc<Owner>,
}

struct Owner(Arc<LogCore>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.queue.close();
        self.0.purge.close();
    }
}

impl std::fmt::Debug for LogHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogHandle").field("dir", &self.core.dir).finish()
    }
}

impl LogHandle {
    pub(crate) fn open(dir: &Path, options: LogOptions) -> Result<Self, LogError> {
        let io = |error: std::io::Error| LogError::Io {
            path: dir.to_owned(),
            detail: error.to_string(),
        };
        std::fs::create_dir_all(dir).map_err(io)?;
        sync_parent(dir).map_err(io)?;
        if let Some((path, detail)) = check::corruption(dir).map_err(io)? {
            return Err(LogError::Corrupt { path, detail });
        }
        // Snapshots that were on their way when the process ended are of no use.
        let _ = std::fs::remove_dir_all(dir.join(SNAPSHOTS));
        let engine = Engine::open(engine_config(dir, &options)).map_err(|e| open_error(dir, e))?;
        let group = |region| Some(fold(meta(&engine, region)?.id));
        let held: Vec<u64> = engine.raft_groups();
        let regions = Regions::load(held.into_iter().map(|region| (region, group(region))));
        let core = Arc::new(LogCore {
            dir: dir.to_owned(),
            engine,
            regions: Mutex::new(regions),
            queue: WriteQueue::new(options.max_batch_bytes),
            options,
            metrics: Arc::default(),
            groups: Mutex::default(),
            health: Arc::default(),
            purge: Inbox::new(),
            threads: Mutex::default(),
        });
        let spawn = |name: &str, run: fn(Arc<LogCore>)| {
            let core = core.clone();
            std::thread::Builder::new().name(name.to_owned()).spawn(move || run(core))
        };
        let writer = spawn("raft-log", write::run).map_err(io)?;
        let purger = spawn("raft-purge", purge::run).map_err(io)?;
        core.threads.lock().extend([writer, purger]);
        let _owner = Arc::new(Owner(core.clone()));
        Ok(Self { core, _owner })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.core.dir
    }

    /// Its counters.
    pub fn metrics(&self) -> &Arc<LogMetrics> {
        &self.core.metrics
    }

    /// Bytes of all files that are not recycled yet.
    pub fn used_bytes(&self) -> usize {
        self.core.engine.get_used_size()
    }

    /// Why writes fail at present: the disk is full, or its fsync failed.
    pub fn trouble(&self) -> Option<String> {
        self.core.health.trouble()
    }

    /// The groups it holds, to open them again after a restart.
    pub fn groups(&self) -> Vec<PersistedGroup> {
        let engine = &self.core.engine;
        engine.raft_groups().into_iter().filter_map(|region| meta(engine, region)).collect()
    }

    /// Whether it holds a group: its members are on disk.
    pub fn holds(&self, group: Uuid) -> bool {
        self.meta(fold(group)).is_some_and(|known| known.id == group)
    }

    /// Waits until everything that was handed to the log so far is on disk.
    ///
    /// # Errors
    /// When the log gives up before.
    pub async fn settled(&self) -> Result<(), LogError> {
        let (sender, written) = oneshot::channel();
        self.write([WriteTask { done: Done::Waiter(sender), ..Default::default() }]);
        written.await.map_err(|_| LogError::Io {
            path: self.core.dir.clone(),
            detail: self.trouble().unwrap_or_else(|| String::from("the log was closed")),
        })
    }

    /// Writes what is queued, then stops the log's threads. Groups on it must be stopped
    /// before.
    pub fn close(&self) {
        self.core.queue.close();
        self.core.purge.close();
        let threads = std::mem::take(&mut *self.core.threads.lock());
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!(log = %self.core.dir.display(), "a log thread panicked");
            }
        }
    }

    /// Queues writes. They are dropped, with whoever waits for them, when the log is closed.
    pub(crate) fn write(&self, tasks: impl IntoIterator<Item = WriteTask>) {
        self.core.queue.push(&self.core.regions, tasks);
    }

    pub(crate) fn snapshots_dir(&self) -> PathBuf {
        self.core.dir.join(SNAPSHOTS)
    }

    /// Under which number the engine has a group, if it has it.
    fn region(&self, group: u64) -> Option<u64> {
        self.core.regions.lock().get(group)
    }

    pub(crate) fn meta(&self, group: u64) -> Option<PersistedGroup> {
        meta(&self.core.engine, self.region(group)?)
    }

    pub(crate) fn hard_state(&self, group: u64) -> Result<HardState, LogError> {
        let Some(region) = self.region(group) else { return Ok(HardState::default()) };
        let found = self.core.engine.get_message::<HardState>(region, format::HARD);
        Ok(found.map_err(|e| self.read_error(e))?.unwrap_or_default())
    }

    pub(crate) fn truncated(&self, group: u64) -> LogPosition {
        let value = self.region(group).and_then(|r| self.core.engine.get(r, format::TRUNCATED));
        value.and_then(|v| format::decode_position(&v)).unwrap_or_default()
    }

    /// The last entry of a group, if it has any.
    pub(crate) fn last_index(&self, group: u64) -> Option<u64> {
        self.core.engine.last_index(self.region(group)?)
    }

    pub(crate) fn entry(&self, group: u64, index: u64) -> Result<Option<Entry>, LogError> {
        let Some(region) = self.region(group) else { return Ok(None) };
        let found = self.core.engine.get_entry::<EntryExt>(region, index);
        found.map_err(|e| self.read_error(e))
    }

    /// Entries from `low` up to (not including) `high`, at least one if there is one, as many
    /// as fit `max_bytes`.
    pub(crate) fn entries(
        &self,
        group: u64,
        low: u64,
        high: u64,
        max_bytes: Option<usize>,
        into: &mut Vec<Entry>,
    ) -> Result<(), LogError> {
        let Some(region) = self.region(group) else { return Ok(()) };
        let engine = &self.core.engine;
        let fetched = engine.fetch_entries_to::<EntryExt>(region, low, high, max_bytes, into);
        fetched.map(|_| ()).map_err(|e| self.read_error(e))
    }

    fn read_error(&self, error: raft_engine::Error) -> LogError {
        open_error(&self.core.dir, error)
    }
}

fn meta(engine: &Engine, region: u64) -> Option<PersistedGroup> {
    engine.get(region, format::META).and_then(|m| PersistedGroup::decode(&m))
}

/// Why a log cannot be written at present; outlives the log itself.
#[derive(Debug, Default)]
pub(crate) struct LogHealth {
    reason: Mutex<Option<String>>,
    /// Whether there is a reason, to be looked at without the lock.
    any: AtomicBool,
}

impl LogHealth {
    pub(crate) fn trouble(&self) -> Option<String> {
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        self.reason.lock().clone()
    }

    fn set(&self, reason: Option<String>) {
        self.any.store(reason.is_some(), Ordering::Relaxed);
        *self.reason.lock() = reason;
    }
}

const SNAPSHOTS: &str = "snapshots";

fn engine_config(dir: &Path, options: &LogOptions) -> Config {
    Config {
        dir: dir.to_string_lossy().into_owned(),
        recovery_mode: RecoveryMode::TolerateTailCorruption,
        recovery_threads: 2,
        // Payloads are outside and commands are small: compressing costs more than it saves.
        batch_compression_threshold: ReadableSize(0),
        target_file_size: ReadableSize(options.file_size),
        purge_threshold: ReadableSize(options.purge_threshold.max(options.file_size)),
        enable_log_recycle: true,
        ..Config::default()
    }
}

fn sync_parent(dir: &Path) -> std::io::Result<()> {
    match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => std::fs::File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

fn open_error(dir: &Path, error: raft_engine::Error) -> LogError {
    use raft_engine::Error;
    let path = dir.to_owned();
    let detail = error.to_string();
    match error {
        Error::Corruption(_) | Error::Codec(_) | Error::Protobuf(_) => {
            LogError::Corrupt { path, detail }
        }
        // The engine wraps the failed lock in its catch-all error.
        Error::Other(_) if detail.contains("lock") => LogError::InUse { path },
        _ => LogError::Io { path, detail },
    }
}
