//! Pending reports to SCM. Every SCM has its own outbox: reports that one of them missed are sent
//! to it later, independently of the others. SCMs are added and removed.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use proto::scm_datanode::CommandStatus;
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::Notify;
use types::{ContainerId, PipelineId};

/// Pending reports for the SCMs' next heartbeats. One per DataNode.
#[derive(Debug, Default)]
pub(crate) struct PendingReports {
    outboxes: RwLock<Vec<Arc<Outbox>>>,
}

/// Pending reports for one SCM.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    batch: Mutex<Batch>,
    wake: Notify,
}

/// Reports for one heartbeat.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The store may have changes to collect.
    pub look: bool,
    /// Containers whose replica changed or was removed.
    pub containers: FxHashSet<ContainerId>,
    /// Containers that are full.
    pub full: FxHashSet<ContainerId>,
    /// Pipelines that started, or whose leader changed.
    pub pipelines: FxHashSet<PipelineId>,
    /// Pipelines that no longer work here, and why.
    pub failed: FxHashMap<PipelineId, String>,
    /// Commands that were carried out.
    pub statuses: Vec<CommandStatus>,
}

impl PendingReports {
    /// The outbox of an SCM that comes.
    pub fn open(&self) -> Arc<Outbox> {
        let outbox = Arc::<Outbox>::default();
        self.outboxes.write().push(Arc::clone(&outbox));
        outbox
    }

    /// Drops the queue of an SCM that was removed.
    pub fn close(&self, outbox: &Arc<Outbox>) {
        self.outboxes.write().retain(|known| !Arc::ptr_eq(known, outbox));
    }

    /// Something was applied: containers may have been made, closed or filled.
    pub fn detect_changes(&self) {
        self.add(|batch| batch.look = true);
    }

    /// Reports a replica whose state changed, or which was removed.
    pub fn container_changed(&self, id: ContainerId) {
        self.add(|batch| _ = batch.containers.insert(id));
    }

    /// A container is full and is to be closed.
    pub fn container_full(&self, id: ContainerId) {
        self.add(|batch| _ = batch.full.insert(id));
    }

    /// A pipeline started here, or its leader changed.
    pub fn pipeline_changed(&self, id: PipelineId) {
        self.add(|batch| _ = batch.pipelines.insert(id));
    }

    /// A pipeline no longer works here and is to be closed.
    pub fn pipeline_failed(&self, id: PipelineId, reason: String) {
        self.add(|batch| _ = batch.failed.insert(id, reason.clone()));
    }

    fn add(&self, add: impl Fn(&mut Batch)) {
        for outbox in self.outboxes.read().iter() {
            outbox.add(&add);
        }
    }
}

impl Outbox {
    /// Adds to the next heartbeat, which is sent at once.
    pub fn add(&self, add: impl FnOnce(&mut Batch)) {
        add(&mut self.batch.lock());
        self.wake.notify_one();
    }

    /// Waits until there is something.
    pub async fn wait(&self) {
        self.wake.notified().await;
    }

    /// Takes all pending reports.
    pub fn take(&self) -> Batch {
        std::mem::take(&mut self.batch.lock())
    }

    /// Puts back reports that could not be sent; later reports stay. Does not wake the session:
    /// they are sent with the next heartbeat.
    pub fn put_back(&self, old: Batch) {
        let mut batch = self.batch.lock();
        batch.look |= old.look;
        batch.containers.extend(old.containers);
        batch.full.extend(old.full);
        batch.pipelines.extend(old.pipelines);
        for (id, reason) in old.failed {
            batch.failed.entry(id).or_insert(reason);
        }
        batch.statuses.splice(0..0, old.statuses);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_scm_is_told_and_what_one_missed_comes_again() {
        let pending_reports = PendingReports::default();
        let (first, second) = (pending_reports.open(), pending_reports.open());
        pending_reports.container_full(ContainerId(1));
        first.wait().await;
        let taken = first.take();
        pending_reports.container_full(ContainerId(2));
        first.put_back(taken);
        assert_eq!(first.take().full.len(), 2);
        assert!(first.take().full.is_empty());
        second.wait().await;
        assert_eq!(second.take().full.len(), 2);
        pending_reports.close(&second);
        pending_reports.container_full(ContainerId(3));
        assert_eq!((first.take().full.len(), second.take().full.len()), (1, 0));
    }
}
