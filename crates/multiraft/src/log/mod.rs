//! One log per disk, shared by all groups on it.
//!
//! [`LogHandle`] is the cheap handle; `queue.rs` has what waits for the disk, `write.rs` the thread
//! that writes it, `purge.rs` the one that gives space back, `check.rs` what refuses a damaged
//! directory and cuts a torn tail, `format.rs` the records beside the entries, `regions.rs` the
//! numbers that groups have in the engine. Outside of the directory are `manifest.rs`, by which
//! `identity.rs` knows that a log was lost, and `synced.rs`, by which `check.rs` knows what was
//! synced. The engine is raft-engine: append-only files, an index in memory, files recycled so that
//! a write does not change file metadata.

mod check;
pub(crate) mod format;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod identity;
mod manifest;
#[cfg(test)]
pub(crate) mod power_loss;
mod purge;
mod queue;
mod regions;
mod synced;
pub(crate) mod write;

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use raft::eraftpb::{Entry, HardState};
use raft_engine::{Config, Engine, MessageExt, ReadableSize, RecoveryMode};
use rustc_hash::FxHashMap;
use tokio::sync::{oneshot, watch};
use uuid::Uuid;

pub use self::format::PersistedGroup;
use self::identity::Identity;
pub(crate) use self::manifest::Completeness;
use self::queue::WriteQueue;
use self::regions::Regions;
use self::synced::{SyncedFile, Written};
use self::write::{Done, WriteTask};
use crate::error::LogError;
use crate::event::Event;
use crate::id::fold;
use crate::inbox::Inbox;
use crate::machine::LogPosition;
use crate::membership::Membership;
use crate::metrics::LogMetrics;
use crate::options::LogOptions;

/// Lets the engine number Raft's entries.
pub(crate) struct EntryExt;

impl MessageExt for EntryExt {
    type Entry = Entry;

    fn index(entry: &Entry) -> u64 {
        entry.index
    }
}

/// The engine. It syncs once more when it is dropped, and panics when that fails: a log that has
/// failed must not take its process along.
pub(crate) struct Guarded(ManuallyDrop<Engine>);

impl Deref for Guarded {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.0
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: it is not used after this.
        let engine = unsafe { ManuallyDrop::take(&mut self.0) };
        if catch_unwind(AssertUnwindSafe(|| drop(engine))).is_err() {
            tracing::error!("the last fsync of a raft log failed");
        }
    }
}

pub(crate) struct LogCore {
    pub(crate) dir: PathBuf,
    pub(crate) engine: Guarded,
    pub(crate) regions: Mutex<Regions>,
    pub(crate) options: LogOptions,
    queue: WriteQueue,
    pub(crate) metrics: Arc<LogMetrics>,
    /// Running groups and the inbox of their loop.
    pub(crate) groups: Mutex<FxHashMap<u64, Arc<Inbox<Event>>>>,
    pub(crate) health: Arc<LogHealth>,
    identity: Identity,
    synced: SyncedFile,
    written: Arc<Written>,
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

impl LogCore {
    /// The log has failed: its groups stop, and what is queued is not written.
    pub(crate) fn give_up(&self, reason: String) {
        if !self.health.fail(&reason) {
            return;
        }
        tracing::error!(log = %self.dir.display(), %reason, "raft log gave up; its groups stop on this node");
        for (group, inbox) in self.groups.lock().iter() {
            inbox.push(Event::LogFailed { group: *group, reason: reason.clone() });
        }
        self.queue.clear();
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
        match dir.join(identity::ID).exists() {
            true => sync_parent(dir),
            false => sync_names_above(dir),
        }
        .map_err(io)?;
        let manifest = options.manifest.clone().unwrap_or_else(|| default_manifest(dir));
        let lock = check::lock(dir)?;
        let identity = Identity::establish(dir, &manifest)?;
        if let Some((path, detail)) = check::damage(dir, &identity.synced).map_err(io)? {
            return Err(LogError::Corrupt { path, detail });
        }
        read_from_device(dir).map_err(io)?;
        if let Some((path, detail)) = check::recover_tail(dir, options.fsync).map_err(io)? {
            return Err(LogError::Corrupt { path, detail });
        }
        // Snapshots that were on their way when the process ended are of no use.
        let _ = std::fs::remove_dir_all(dir.join(SNAPSHOTS));
        let written = Arc::<Written>::default();
        let config = engine_config(dir, &options);
        // The engine takes it.
        drop(lock);
        let engine = Engine::open_with_listeners(config, vec![written.clone()])
            .map_err(|e| open_error(dir, e))?;
        let group = |region| Some(fold(meta(&engine, region)?.id));
        let held: Vec<u64> = engine.raft_groups();
        let regions = Regions::load(held.into_iter().map(|region| (region, group(region))));
        let core = Arc::new(LogCore {
            dir: dir.to_owned(),
            engine: Guarded(ManuallyDrop::new(engine)),
            regions: Mutex::new(regions),
            queue: WriteQueue::new(options.max_batch_bytes),
            options,
            metrics: Arc::default(),
            groups: Mutex::default(),
            health: Arc::default(),
            synced: SyncedFile::new(identity::synced_path(&manifest), identity.synced),
            identity,
            written,
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

    /// Why writes fail at present: the disk is full, or the log has [failed](Self::failure).
    pub fn trouble(&self) -> Option<String> {
        self.core.health.trouble()
    }

    /// Whether it takes writes.
    pub(crate) fn check_open(&self) -> Result<(), LogError> {
        if !self.core.queue.is_closed() {
            return Ok(());
        }
        let detail = self.trouble().unwrap_or_else(|| String::from("it was closed"));
        Err(LogError::Closed { path: self.core.dir.clone(), detail })
    }

    /// Why the log failed, if it did: a write or an fsync of its disk failed, which is final. Its
    /// groups stop on this node.
    pub fn failure(&self) -> Option<String> {
        self.core.health.failure()
    }

    /// Waits until the log has failed, and says why; for ever when it never does.
    pub fn failed(&self) -> impl Future<Output = String> + Send + use<> {
        let mut failed = self.core.health.failed.subscribe();
        async move {
            match failed.wait_for(Option::is_some).await.map(|reason| reason.clone()) {
                Ok(Some(reason)) => reason,
                // The log is closed.
                _ => std::future::pending().await,
            }
        }
    }

    /// Fails the log, for a reason found elsewhere: its groups stop on this node.
    pub fn fail(&self, reason: &str) {
        self.core.give_up(reason.to_owned());
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
    pub async fn sync(&self) -> Result<(), LogError> {
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
        self.core.identity.persist();
        self.core.synced.sync();
    }

    /// Queues writes. They are dropped, with the callers that wait for them, when the log is
    /// closed.
    pub(crate) fn write(&self, tasks: impl IntoIterator<Item = WriteTask>) {
        self.core.queue.push(&self.core.regions, tasks);
    }

    /// Queues a write and waits until it is on disk.
    ///
    /// # Errors
    /// When the log gives up before.
    pub(crate) fn write_and_wait(&self, task: WriteTask) -> Result<(), LogError> {
        let (sender, written) = std::sync::mpsc::sync_channel(1);
        self.write([WriteTask { done: Done::Thread(sender), ..task }]);
        written.recv().map_err(|_| LogError::Closed {
            path: self.core.dir.clone(),
            detail: self.trouble().unwrap_or_else(|| String::from("the log was closed")),
        })
    }

    /// What the log says of what a group may lack here.
    pub(crate) fn completeness(&self, group: u64) -> Option<Completeness> {
        let value = self.core.engine.get(self.region(group)?, format::COMPLETENESS)?;
        Completeness::decode(&value)
    }

    /// What is known outside of the log of what a group may lack here; nothing of one that was
    /// never on it.
    pub(crate) fn recorded(&self, group: Uuid) -> Option<Completeness> {
        self.core.identity.manifest.get(group)
    }

    /// The members of a group, as far as that is known outside of the log.
    pub(crate) fn recorded_members(&self, group: Uuid) -> Option<Membership> {
        self.core.identity.manifest.members(group)
    }

    /// Records outside of the log what a group may lack here, and its members; returns when that
    /// is on disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn record(
        &self,
        group: Uuid,
        completeness: Completeness,
        members: &Membership,
    ) -> Result<(), LogError> {
        self.core.identity.manifest.set_members(group, members);
        self.core.identity.manifest.set(group, completeness);
        self.core.identity.adopt()
    }

    /// As [`record`](Self::record), soon, and without waiting for it.
    pub(crate) fn note(&self, group: Uuid, completeness: Completeness) {
        self.core.identity.manifest.set(group, completeness);
        self.core.purge.push(());
    }

    /// A group is not on the log any more.
    pub(crate) fn forget(&self, group: Uuid) {
        self.core.identity.manifest.forget(group);
    }

    /// From now on this is the log that its manifest is about.
    ///
    /// # Errors
    /// When that cannot be written.
    pub(crate) fn adopt(&self) -> Result<(), LogError> {
        self.core.identity.adopt()
    }

    /// Whether an operator goes on without what a lost log had.
    pub(crate) fn loss_is_accepted(&self) -> bool {
        self.core.identity.accepted
    }

    /// The file by which an operator says so.
    pub(crate) fn accept_path(&self) -> PathBuf {
        identity::accept_path(self.core.identity.manifest.path())
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
    /// Why the log failed for good.
    failed: watch::Sender<Option<String>>,
}

impl LogHealth {
    pub(crate) fn failure(&self) -> Option<String> {
        self.failed.borrow().clone()
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        self.reason.lock().clone()
    }

    /// The log fails; says whether it had not before.
    fn fail(&self, reason: &str) -> bool {
        let first = self.failed.send_if_modified(|failed| {
            let first = failed.is_none();
            failed.get_or_insert_with(|| reason.to_owned());
            first
        });
        if first {
            self.set(Some(reason.to_owned()));
        }
        first
    }

    fn set(&self, reason: Option<String>) {
        // What has failed stays so, also when a write that was under way goes well.
        let reason = reason.or_else(|| self.failure());
        self.any.store(reason.is_some(), Ordering::Relaxed);
        *self.reason.lock() = reason;
    }
}

const SNAPSHOTS: &str = "snapshots";

/// Where a log's manifest is by default.
fn default_manifest(dir: &Path) -> PathBuf {
    let mut path = dir.as_os_str().to_owned();
    path.push(".manifest");
    path.into()
}

fn engine_config(dir: &Path, options: &LogOptions) -> Config {
    Config {
        dir: dir.to_string_lossy().into_owned(),
        // `check.rs` has cut what may be cut. In any other mode the engine cuts where a read fails,
        // too.
        recovery_mode: RecoveryMode::AbsoluteConsistency,
        recovery_threads: 2,
        // Payloads are outside and commands are small: compressing costs more than it saves.
        batch_compression_threshold: ReadableSize(0),
        target_file_size: ReadableSize(options.file_size),
        purge_threshold: ReadableSize(options.purge_threshold.max(options.file_size)),
        enable_log_recycle: true,
        ..Config::default()
    }
}

/// Has the log's files read from the device: a page that could not be written back may still be in
/// the page cache, where a process that ended before has left it.
fn read_from_device(dir: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let file = std::fs::File::open(entry.path())?;
        // Only clean pages are dropped.
        file.sync_all()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    }
    // The same of the names: that process may have gone on, or ended, when it could not sync them.
    std::fs::File::open(dir)?.sync_all()
}

fn sync_parent(dir: &Path) -> std::io::Result<()> {
    match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => std::fs::File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

/// Makes the name of a directory and of all directories above it durable, before it holds anything.
fn sync_names_above(dir: &Path) -> std::io::Result<()> {
    let dir = dir.canonicalize()?;
    let device = dir.metadata()?.dev();
    for parent in dir.ancestors().skip(1) {
        // What the file system is mounted on is none of its names.
        if parent.metadata()?.dev() != device {
            break;
        }
        match std::fs::File::open(parent).and_then(|directory| directory.sync_all()) {
            // A process that may not list a directory has made nothing there.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => break,
            synced => synced?,
        }
    }
    Ok(())
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
