//! Ordered copies, reconstructions and deletions of replicas: counted as if done, so that they are
//! not ordered twice, until they are reported, fail, or time out.
//!
//! A deletion counts beyond its timeout, until its node reports the replica after that: an earlier
//! report may be outdated. It is ordered again meanwhile, while that replica is still to be
//! deleted.
//!
//! Which nodes failed to send or to get a replica is remembered for a while: others are taken
//! first, and an index that could not be copied is decoded from the others.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use types::{ContainerId, DatanodeId};

use crate::time::Millis;

/// Task of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// The node gets a copy from another one.
    Copy {
        /// The node that sends it.
        source: DatanodeId,
        /// Its replica index, 0 for a full copy.
        index: u32,
    },
    /// The node gets a replica that is decoded from others.
    Reconstruct {
        /// The node that does it.
        coordinator: DatanodeId,
        /// The replica's index.
        index: u32,
        /// Copies that it counts as for the coordinator. One of an order's tasks has it for all.
        load: u32,
    },
    /// The node moves its replica to another of its disks.
    Relocate {
        /// The node.
        by: DatanodeId,
    },
    /// The node compares its damaged replica with others, and fetches missing data from them.
    Reconcile {
        /// The node.
        by: DatanodeId,
    },
    /// The node deletes its replica.
    Delete,
}

impl Task {
    /// The index of the replica that the node gets; `None` when it gets none.
    pub fn comes(self) -> Option<u32> {
        match self {
            Self::Copy { index, .. } | Self::Reconstruct { index, .. } => Some(index),
            Self::Relocate { .. } | Self::Reconcile { .. } | Self::Delete => None,
        }
    }

    /// The node that sends or makes the replica, and the copies it counts as.
    fn work(self) -> Option<(DatanodeId, u32)> {
        match self {
            Self::Copy { source, .. } => Some((source, 1)),
            Self::Relocate { by } | Self::Reconcile { by } => Some((by, 1)),
            Self::Reconstruct { coordinator, load, .. } => Some((coordinator, load)),
            Self::Delete => None,
        }
    }
}

/// A replica to create or delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// Its node.
    pub node: DatanodeId,
    /// The order.
    pub task: Task,
    /// Timeout of the order.
    pub until: Millis,
}

/// The tasks of all containers.
#[derive(Debug, Default)]
pub struct PendingTasks {
    tasks: FxHashMap<ContainerId, SmallVec<[Pending; 2]>>,
    sending: FxHashMap<DatanodeId, u32>,
    deleting: FxHashMap<DatanodeId, u32>,
    receiving: FxHashMap<DatanodeId, u32>,
    copies: usize,
    /// Nodes that a replica could not be copied from or made on, and until when that is remembered.
    failed: FxHashMap<(ContainerId, DatanodeId), Millis>,
    /// Deletions that took too long, or whose nodes registered since they were ordered.
    doubtful: Vec<(ContainerId, DatanodeId)>,
    /// True if a replica arrived, was deleted or failed since the last query.
    changed: bool,
}

impl PendingTasks {
    /// Returns `true` if a replica arrived, was deleted or failed since the last call: then more
    /// repairs may be possible.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// A node registered or failed: more repairs may be possible.
    pub(crate) fn note_change(&mut self) {
        self.changed = true;
    }

    /// Those of a container.
    pub fn of(&self, id: ContainerId) -> &[Pending] {
        self.tasks.get(&id).map(SmallVec::as_slice).unwrap_or_default()
    }

    /// Returns `true` if the node was ordered to delete its replica and has not reported yet that
    /// it did.
    pub fn is_going(&self, id: ContainerId, node: DatanodeId) -> bool {
        self.of(id).iter().any(|p| p.node == node && p.task == Task::Delete)
    }

    /// Returns `true` if a copy of the container is in flight to a node.
    pub fn copies_of(&self, id: ContainerId) -> bool {
        self.of(id).iter().any(|p| p.task.comes().is_some())
    }

    /// Returns `true` if the node recently failed to get a replica of a container, or to send one.
    pub fn failed_lately(&self, id: ContainerId, node: DatanodeId) -> bool {
        self.failed.contains_key(&(id, node))
    }

    /// Copies pending from a node. A reconstruction that it coordinates counts as several.
    pub fn sending(&self, node: DatanodeId) -> u32 {
        self.sending.get(&node).copied().unwrap_or(0)
    }

    /// Replicas pending to a node.
    pub fn receiving(&self, node: DatanodeId) -> u32 {
        self.receiving.get(&node).copied().unwrap_or(0)
    }

    /// Deletions pending on a node.
    pub fn deleting(&self, node: DatanodeId) -> u32 {
        self.deleting.get(&node).copied().unwrap_or(0)
    }

    /// Copies in flight in the whole cluster. A reconstruction counts as several.
    pub fn copies(&self) -> usize {
        self.copies
    }

    /// Deletions pending in the whole cluster.
    pub fn deletions(&self) -> usize {
        self.deleting.values().map(|n| *n as usize).fold(0, usize::saturating_add)
    }

    pub(crate) fn add(&mut self, id: ContainerId, pending: Pending) {
        self.count(&pending, true);
        self.tasks.entry(id).or_default().push(pending);
    }

    /// The node has reported a replica: a copy in flight to it has arrived. True when one was
    /// pending.
    pub(crate) fn arrived(&mut self, id: ContainerId, node: DatanodeId) -> bool {
        !self.remove(id, |p| p.node == node && p.task.comes().is_some()).is_empty()
    }

    /// The node has its replica on a disk of another type than before.
    pub(crate) fn relocated(&mut self, id: ContainerId, node: DatanodeId) {
        self.remove(id, |p| p.task == Task::Relocate { by: node });
    }

    /// The node has no damaged replica any more: its reconciliation is done, or not needed.
    pub(crate) fn mended(&mut self, id: ContainerId, node: DatanodeId) {
        self.remove(id, |p| p.task == Task::Reconcile { by: node });
    }

    /// The node has its replica still: it does not delete it any more if the time for that is over.
    /// True when that was waited for.
    pub(crate) fn stayed(&mut self, id: ContainerId, node: DatanodeId, now: Millis) -> bool {
        let late = |p: &Pending| p.node == node && p.task == Task::Delete && p.until <= now;
        !self.remove(id, late).is_empty()
    }

    /// The node has no replica any more: its deletion is done. True if one was pending.
    pub(crate) fn gone(&mut self, id: ContainerId, node: DatanodeId) -> bool {
        !self.remove(id, |p| p.node == node && p.task == Task::Delete).is_empty()
    }

    /// A copy to `target`, or to another of its disks, failed. True if one was pending.
    pub fn failed(&mut self, id: ContainerId, target: DatanodeId) -> bool {
        let failed = self.remove(id, |p| p.node == target && p.task != Task::Delete);
        failed.iter().for_each(|p| self.note_failure(id, p, p.until));
        !failed.is_empty()
    }

    /// A node died: it neither sends nor gets anything. It may still carry out deletions when it is
    /// back, so those count until it reports, or they expire.
    pub(crate) fn forget_node(&mut self, node: DatanodeId) {
        self.drop_where(|_, p| p.task.work().is_some_and(|(by, _)| p.node == node || by == node));
    }

    /// A node may have restarted: it does not work on earlier copies and reconstructions. If it
    /// still does, at worst a surplus replica arrives. It may still carry out deletions or may have
    /// lost them: they continue to count, and are ordered again if they are still needed. Copies
    /// that others send to it may still arrive.
    pub(crate) fn registered(&mut self, node: DatanodeId) {
        self.drop_where(|_, p| p.task.work().is_some_and(|(by, _)| by == node));
        let of_node = |p: &Pending| p.node == node && p.task == Task::Delete;
        let goes = self.tasks.iter().filter(|(_, tasks)| tasks.iter().any(of_node));
        let ids: Vec<ContainerId> = goes.map(|(id, _)| *id).collect();
        self.changed |= !ids.is_empty();
        self.doubt(ids.into_iter().map(|id| (id, node)));
    }

    fn doubt(&mut self, deletions: impl IntoIterator<Item = (ContainerId, DatanodeId)>) {
        self.doubtful.extend(deletions);
        self.doubtful.sort_unstable();
        self.doubtful.dedup();
    }

    /// Deletions that their nodes may have forgotten, since this was last asked.
    pub(crate) fn take_doubtful(&mut self) -> Vec<(ContainerId, DatanodeId)> {
        std::mem::take(&mut self.doubtful)
    }

    /// Removes and returns a deletion; `None` if there is none.
    pub(crate) fn take_deletion(&mut self, id: ContainerId, node: DatanodeId) -> Option<Pending> {
        self.remove(id, |p| p.node == node && p.task == Task::Delete).pop()
    }

    /// Expires entries after their time, and returns them; they are kept as failures for `timeout`.
    /// Deletions of replicas that are known, as `has` returns, continue to count and are doubtful.
    pub(crate) fn expire(
        &mut self,
        now: Millis,
        timeout: Millis,
        has: impl Fn(ContainerId, DatanodeId) -> bool,
    ) -> Vec<(ContainerId, Pending)> {
        let mut doubtful = Vec::new();
        for (id, tasks) in &self.tasks {
            let deletions = tasks.iter().filter(|p| p.task == Task::Delete && p.until <= now);
            doubtful.extend(deletions.map(|p| (*id, p.node)).filter(|(id, node)| has(*id, *node)));
        }
        self.doubt(doubtful);
        let stays = |id, p: &Pending| p.task == Task::Delete && has(id, p.node);
        let late = self.drop_where(|id, p| p.until <= now && !stays(id, p));
        for (id, late) in &late {
            self.note_failure(*id, late, late.until.saturating_add(timeout));
        }
        self.failed.retain(|_, until| *until > now);
        late
    }

    fn note_failure(&mut self, id: ContainerId, late: &Pending, until: Millis) {
        if late.task.comes().is_none() {
            return;
        }
        self.failed.insert((id, late.node), until);
        // It is unknown which of the two failed.
        if let Task::Copy { source, .. } = late.task {
            self.failed.insert((id, source), until);
        }
    }

    fn drop_where(
        &mut self,
        which: impl Fn(ContainerId, &Pending) -> bool,
    ) -> Vec<(ContainerId, Pending)> {
        let ids: Vec<_> = self.tasks.keys().copied().collect();
        let mut dropped = Vec::new();
        for id in ids {
            dropped.extend(self.remove(id, |p| which(id, p)).into_iter().map(|p| (id, p)));
        }
        dropped
    }

    fn remove(
        &mut self,
        id: ContainerId,
        which: impl Fn(&Pending) -> bool,
    ) -> SmallVec<[Pending; 2]> {
        let Some(tasks) = self.tasks.get_mut(&id) else { return SmallVec::new() };
        let (out, kept): (SmallVec<[Pending; 2]>, SmallVec<[Pending; 2]>) =
            tasks.iter().copied().partition(|p| which(p));
        if kept.is_empty() {
            self.tasks.remove(&id);
        } else {
            *tasks = kept;
        }
        for pending in &out {
            self.count(pending, false);
        }
        self.changed |= !out.is_empty();
        out
    }

    /// Counts a task in, or out.
    fn count(&mut self, pending: &Pending, comes: bool) {
        let add = |counts: &mut FxHashMap<DatanodeId, u32>, node, by: u32| {
            let count = counts.entry(node).or_default();
            *count = if comes { count.saturating_add(by) } else { count.saturating_sub(by) };
            if *count == 0 {
                counts.remove(&node);
            }
        };
        match pending.task.work() {
            Some((by, load)) => {
                add(&mut self.sending, by, load);
                add(&mut self.receiving, pending.node, 1);
                let load = load as usize;
                self.copies = match comes {
                    true => self.copies.saturating_add(load),
                    false => self.copies.saturating_sub(load),
                };
            }
            None => add(&mut self.deleting, pending.node, 1),
        }
    }
}
