//! Copies and deletions of replicas that nodes were told to make: counted as if done, so that they
//! are not ordered twice, until they are reported, fail, or too much time has passed.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use types::{ContainerId, DatanodeId};

use crate::Millis;

/// What a node was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// The node gets a copy from another one.
    Copy {
        /// The node that sends it.
        source: DatanodeId,
    },
    /// The node deletes its replica.
    Delete,
}

/// A replica that is to come or to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// Where.
    pub node: DatanodeId,
    /// What was ordered.
    pub task: Task,
    /// From when on it is not waited for.
    pub until: Millis,
}

/// All of them.
#[derive(Debug, Default)]
pub struct PendingTasks {
    tasks: FxHashMap<ContainerId, SmallVec<[Pending; 2]>>,
    sending: FxHashMap<DatanodeId, u32>,
    deleting: FxHashMap<DatanodeId, u32>,
    receiving: FxHashMap<DatanodeId, u32>,
    copies: usize,
    /// Something came, went or failed since anybody asked.
    changed: bool,
}

impl PendingTasks {
    /// Whether something came, went or failed since this was last asked: then there may be more to
    /// do.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// A node came or went: there may be more to do.
    pub(crate) fn note_change(&mut self) {
        self.changed = true;
    }

    /// Those of a container.
    pub fn of(&self, id: ContainerId) -> &[Pending] {
        self.tasks.get(&id).map(SmallVec::as_slice).unwrap_or_default()
    }

    /// Whether a copy of the container is under way.
    pub fn copies_of(&self, id: ContainerId) -> bool {
        self.of(id).iter().any(|p| matches!(p.task, Task::Copy { .. }))
    }

    /// Copies that a node is to send.
    pub fn sending(&self, node: DatanodeId) -> u32 {
        self.sending.get(&node).copied().unwrap_or(0)
    }

    /// Copies that a node is to get.
    pub fn receiving(&self, node: DatanodeId) -> u32 {
        self.receiving.get(&node).copied().unwrap_or(0)
    }

    /// Replicas that a node is to delete.
    pub fn deleting(&self, node: DatanodeId) -> u32 {
        self.deleting.get(&node).copied().unwrap_or(0)
    }

    /// Copies under way in the whole cluster.
    pub fn copies(&self) -> usize {
        self.copies
    }

    /// Deletions under way in the whole cluster.
    pub fn deletions(&self) -> usize {
        self.deleting.values().map(|n| *n as usize).fold(0, usize::saturating_add)
    }

    pub(crate) fn add(&mut self, id: ContainerId, pending: Pending) {
        self.count(&pending, 1);
        self.tasks.entry(id).or_default().push(pending);
    }

    /// The node has reported a replica: a copy to it is done. True when one was waited for.
    pub(crate) fn arrived(&mut self, id: ContainerId, node: DatanodeId) -> bool {
        self.remove(id, |p| p.node == node && matches!(p.task, Task::Copy { .. }))
    }

    /// The node has no replica any more: its deletion is done. True when one was waited for.
    pub(crate) fn gone(&mut self, id: ContainerId, node: DatanodeId) -> bool {
        self.remove(id, |p| p.node == node && p.task == Task::Delete)
    }

    /// A copy came to nothing. True when it was waited for.
    pub fn failed(&mut self, id: ContainerId, target: DatanodeId) -> bool {
        self.arrived(id, target)
    }

    /// A node died: it neither sends nor gets anything. What it was told to delete it may delete
    /// when it is back, so that counts until it reports, or its time is over.
    pub(crate) fn forget_node(&mut self, node: DatanodeId) {
        self.drop_where(|p| match p.task {
            Task::Copy { source } => p.node == node || source == node,
            Task::Delete => false,
        });
    }

    /// What took too long is not waited for any longer.
    pub(crate) fn expire(&mut self, now: Millis) {
        self.drop_where(|p| p.until <= now);
    }

    fn drop_where(&mut self, which: impl Fn(&Pending) -> bool) {
        let ids: Vec<_> = self.tasks.keys().copied().collect();
        for id in ids {
            self.remove(id, &which);
        }
    }

    fn remove(&mut self, id: ContainerId, which: impl Fn(&Pending) -> bool) -> bool {
        let Some(tasks) = self.tasks.get_mut(&id) else { return false };
        let (out, kept): (SmallVec<[Pending; 2]>, SmallVec<[Pending; 2]>) =
            tasks.iter().copied().partition(|p| which(p));
        if kept.is_empty() {
            self.tasks.remove(&id);
        } else {
            *tasks = kept;
        }
        for pending in &out {
            self.count(pending, -1);
        }
        self.changed |= !out.is_empty();
        !out.is_empty()
    }

    fn count(&mut self, pending: &Pending, by: i32) {
        let add = |counts: &mut FxHashMap<DatanodeId, u32>, node| {
            let count = counts.entry(node).or_default();
            *count = count.saturating_add_signed(by);
            if *count == 0 {
                counts.remove(&node);
            }
        };
        match pending.task {
            Task::Copy { source } => {
                add(&mut self.sending, source);
                add(&mut self.receiving, pending.node);
                self.copies = self.copies.saturating_add_signed(by as isize);
            }
            Task::Delete => add(&mut self.deleting, pending.node),
        }
    }
}
