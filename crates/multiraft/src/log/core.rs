//! State of a log that its handles and threads share.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::engine::Guarded;
use super::engine_files::Written;
use super::health::LogHealth;
use super::identity::Identity;
use super::queue::WriteQueue;
use super::regions::Regions;
use crate::event::Event;
use crate::inbox::Inbox;
use crate::metrics::LogMetrics;
use crate::options::LogOptions;

pub(crate) struct LogCore {
    pub(crate) dir: PathBuf,
    pub(crate) engine: Guarded,
    pub(crate) regions: Mutex<Regions>,
    pub(crate) options: LogOptions,
    pub(super) queue: WriteQueue,
    pub(crate) metrics: Arc<LogMetrics>,
    /// Running groups, with the inboxes of their event loops.
    pub(crate) groups: Mutex<FxHashMap<u64, Arc<Inbox<Event>>>>,
    pub(crate) health: Arc<LogHealth>,
    pub(super) identity: Identity,
    pub(super) written: Arc<Written>,
    pub(super) purge: Inbox<()>,
    pub(super) threads: Mutex<Vec<JoinHandle<()>>>,
}

impl LogCore {
    /// Marks the log as failed: stops its groups, and drops queued writes.
    pub(crate) fn give_up(&self, reason: String) {
        if !self.health.fail(&reason) {
            return;
        }
        tracing::error!(log = %self.dir.display(), %reason, "raft log failed; stopping its groups on this node");
        for (group, inbox) in self.groups.lock().iter() {
            inbox.push(Event::LogFailed { group: *group, reason: reason.clone() });
        }
        self.queue.clear();
    }
}
