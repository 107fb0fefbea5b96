//! Replicas that are to be read whole, since a read of them found something wrong.

use std::collections::VecDeque;
use std::time::Instant;

use rustc_hash::FxHashMap;
use types::ContainerId;

use super::ContainerStore;

/// Replicas that are to be read whole.
#[derive(Default)]
pub(super) struct Suspects {
    queue: VecDeque<ContainerId>,
    /// Times at which replicas were last read for that.
    read: FxHashMap<ContainerId, Instant>,
}

impl ContainerStore {
    /// Schedules a scan of a replica: a reader received damaged bytes of it, or the device returned
    /// none. A replica that is not here is ignored.
    pub fn suspect(&self, id: ContainerId, why: &str) {
        if self.find(id).is_some() && self.note_suspect(id) {
            tracing::warn!(container = %id, why, "suspicious replica, scheduling a full scan");
        }
    }

    /// Queues a replica to be read whole; returns `true` if it was neither queued nor read lately.
    fn note_suspect(&self, id: ContainerId) -> bool {
        let gap = self.inner.options.scrub_min_gap;
        let mut suspects = self.inner.suspects.lock();
        let lately = suspects.read.get(&id).is_some_and(|at| at.elapsed() < gap);
        let new = !lately && !suspects.queue.contains(&id);
        if new {
            suspects.queue.push_back(id);
        }
        new
    }

    /// Returns the number of replicas that wait to be read whole.
    pub fn suspects(&self) -> usize {
        self.inner.suspects.lock().queue.len()
    }

    /// The next replica that is to be read whole.
    pub fn take_suspect(&self) -> Option<ContainerId> {
        let gap = self.inner.options.scrub_min_gap;
        let mut suspects = self.inner.suspects.lock();
        suspects.read.retain(|_, at| at.elapsed() < gap);
        let id = suspects.queue.pop_front()?;
        suspects.read.insert(id, Instant::now());
        Some(id)
    }
}
