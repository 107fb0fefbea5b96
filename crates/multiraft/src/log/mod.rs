//! One log per disk, shared by all groups on it.
//!
//! [`LogHandle`] is the cheap handle; `queue.rs` holds pending writes, `write.rs` is the writer
//! thread, `purge.rs` reclaims space, `read.rs` reads the log, `check.rs` rejects a damaged
//! directory and truncates a torn tail, `format.rs` defines the records in addition to the entries,
//! `regions.rs` assigns the engine's numbers to groups, `health.rs` records why it cannot be
//! written. Two files are outside of the directory: `manifest.rs`, with which `identity.rs` detects
//! a lost log, and `synced.rs`, with which `check.rs` detects damage to synced data. The engine
//! (`engine.rs`) is raft-engine: append-only files, an index in memory, files recycled so that a
//! write does not change file metadata. Only `engine_files.rs` depends on the format of its files.

mod check;
mod core;
mod engine;
mod engine_files;
#[cfg(test)]
mod first_write;
pub(crate) mod format;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod health;
mod identity;
mod manifest;
#[cfg(test)]
pub(crate) mod power_loss;
mod purge;
mod queue;
mod read;
mod regions;
mod synced;
pub(crate) mod task;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use blockio::durable::{read_from_device, sync_name, sync_names_above};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use uuid::Uuid;

pub(crate) use self::core::LogCore;
pub(crate) use self::engine::EntryExt;
use self::engine::{Guarded, meta};
use self::engine_files::Written;
pub use self::format::PersistedGroup;
pub(crate) use self::health::LogHealth;
use self::identity::Identity;
pub(crate) use self::manifest::Completeness;
use self::queue::WriteQueue;
use self::regions::Regions;
use self::task::{Done, WriteTask};
use crate::error::LogError;
use crate::id::fold;
use crate::inbox::Inbox;
use crate::membership::Membership;
use crate::metrics::LogMetrics;
use crate::options::LogOptions;

/// A log. Cheap to clone; closed with [`close`](Self::close), or soon after the last handle is
/// dropped and the last group on it has stopped.
#[derive(Clone)]
pub struct LogHandle {
    pub(crate) core: Arc<LogCore>,
    /// Held by handles only; the log's threads hold the core as well.
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
        match dir.join(identity::ID).exists() {
            true => sync_name(dir),
            false => sync_names_above(dir),
        }
        .map_err(io)?;
        let manifest = options.manifest.clone().unwrap_or_else(|| default_manifest(dir));
        let lock = check::unless_in_use(|| check::lock(dir))?;
        let identity = Identity::establish(dir, &manifest, options.fsync)?;
        if let Some((path, detail)) = check::damage(dir, &identity.synced.known()).map_err(io)? {
            return Err(LogError::Corrupt { path, detail });
        }
        read_from_device(dir).map_err(io)?;
        let first = identity.synced.nothing_acknowledged();
        if let Some((path, detail)) = check::recover_tail(dir, options.fsync, first).map_err(io)? {
            return Err(LogError::Corrupt { path, detail });
        }
        // The rest of a first write counts as acknowledged from now on.
        if !options.fsync || check::any_data(dir).map_err(io)? {
            identity.synced.may_acknowledge().map_err(io)?;
        }
        // Snapshots that were in flight when the process ended are useless.
        let _ = std::fs::remove_dir_all(dir.join(SNAPSHOTS));
        let written = Arc::<Written>::default();
        // The engine locks the directory itself.
        drop(lock);
        let engine = check::unless_in_use(|| Guarded::open(dir, &options, written.clone()))?;
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

    /// The log's directory.
    pub fn dir(&self) -> &Path {
        &self.core.dir
    }

    /// The log's counters.
    pub fn metrics(&self) -> &Arc<LogMetrics> {
        &self.core.metrics
    }

    /// Bytes of all files that are not recycled yet.
    pub fn used_bytes(&self) -> usize {
        self.core.engine.get_used_size()
    }

    /// The reason why writes fail at present: the disk is full, or the log has
    /// [failed](Self::failure).
    pub fn trouble(&self) -> Option<String> {
        self.core.health.trouble()
    }

    /// Fails if the log accepts no writes.
    pub(crate) fn check_open(&self) -> Result<(), LogError> {
        if !self.core.queue.is_closed() {
            return Ok(());
        }
        let detail = self.trouble().unwrap_or_else(|| String::from("log is closed"));
        Err(LogError::Closed { path: self.core.dir.clone(), detail })
    }

    /// The reason for a permanent failure: a write or an fsync of its disk failed. Its groups stop
    /// on this node.
    pub fn failure(&self) -> Option<String> {
        self.core.health.failure()
    }

    /// Waits until the log has failed, and returns the reason; never completes otherwise.
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

    /// Fails the log for a reason detected elsewhere: its groups stop on this node.
    pub fn fail(&self, reason: &str) {
        self.core.give_up(reason.to_owned());
    }

    /// Waits until all writes queued so far are on disk.
    ///
    /// # Errors
    /// If the log fails before.
    pub async fn sync(&self) -> Result<(), LogError> {
        let (sender, written) = oneshot::channel();
        self.write([WriteTask { done: Done::Waiter(sender), ..Default::default() }]);
        written.await.map_err(|_| LogError::Io {
            path: self.core.dir.clone(),
            detail: self.trouble().unwrap_or_else(|| String::from("log is closed")),
        })
    }

    /// Writes what is queued, then stops the log's threads. Stop the log's groups first.
    pub fn close(&self) {
        self.core.queue.close();
        self.core.purge.close();
        let threads = std::mem::take(&mut *self.core.threads.lock());
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!(log = %self.core.dir.display(), "raft log thread panicked");
            }
        }
        self.core.identity.persist();
        self.core.identity.synced.sync();
    }

    /// Queues writes. They are dropped, with their waiting callers, if the log is closed.
    pub(crate) fn write(&self, tasks: impl IntoIterator<Item = WriteTask>) {
        self.core.queue.push(&self.core.regions, tasks);
    }

    /// Queues a write and waits until it is on disk.
    ///
    /// # Errors
    /// If the log fails before.
    pub(crate) fn write_and_wait(&self, task: WriteTask) -> Result<(), LogError> {
        let (sender, written) = std::sync::mpsc::sync_channel(1);
        self.write([WriteTask { done: Done::Thread(sender), ..task }]);
        written.recv().map_err(|_| LogError::Closed {
            path: self.core.dir.clone(),
            detail: self.trouble().unwrap_or_else(|| String::from("log is closed")),
        })
    }

    /// The completeness of a group's log as recorded outside of the log; `None` for one that was
    /// never on it.
    pub(crate) fn recorded(&self, group: Uuid) -> Option<Completeness> {
        self.core.identity.manifest.get(group)
    }

    /// The members of a group, as far as recorded outside of the log.
    pub(crate) fn recorded_members(&self, group: Uuid) -> Option<Membership> {
        self.core.identity.manifest.members(group)
    }

    /// Records a group's completeness and members outside of the log; returns when they are on
    /// disk.
    ///
    /// # Errors
    /// If they cannot be written.
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

    /// As [`record`](Self::record), but asynchronously.
    pub(crate) fn note(&self, group: Uuid, completeness: Completeness) {
        self.core.identity.manifest.set(group, completeness);
        self.core.purge.push(());
    }

    /// Removes the record of a group that is not on the log any more.
    pub(crate) fn forget(&self, group: Uuid) {
        self.core.identity.manifest.forget(group);
    }

    /// Makes this the log of its manifest.
    ///
    /// # Errors
    /// If that cannot be written.
    pub(crate) fn adopt(&self) -> Result<(), LogError> {
        self.core.identity.adopt()
    }

    /// Returns `true` if an operator has accepted the loss of the log.
    pub(crate) fn loss_is_accepted(&self) -> bool {
        self.core.identity.accepted
    }

    /// The file with which an operator accepts it.
    pub(crate) fn accept_path(&self) -> PathBuf {
        identity::accept_path(self.core.identity.manifest.path())
    }

    pub(crate) fn snapshots_dir(&self) -> PathBuf {
        self.core.dir.join(SNAPSHOTS)
    }
}

const SNAPSHOTS: &str = "snapshots";

/// Default path of a log's manifest.
fn default_manifest(dir: &Path) -> PathBuf {
    let mut path = dir.as_os_str().to_owned();
    path.push(".manifest");
    path.into()
}
