//! An order that repairs a container.

use smallvec::{SmallVec, smallvec};
use types::{ContainerId, DatanodeId};

use crate::state::order::{Order, OrderKind};
use crate::state::pending::{Pending, Task};
use crate::time::Millis;

/// Reason for moving a replica to another disk, for operators.
pub(super) const WRONG_DISK: &str = "it is on a disk of another storage type";

/// Reason for the reconciliation of a damaged replica, for operators.
const NO_OTHER_NODE: &str = "no other node can take a copy";

/// An order, and the tasks in flight that it starts.
pub(super) struct Repair {
    pub tasks: SmallVec<[Pending; 2]>,
    pub order: Order,
    /// Cause, if that is not the container's health.
    pub why: Option<&'static str>,
}

impl Repair {
    /// Returns the order to copy a node's replica, which has that index, to another node.
    pub fn copy(
        id: ContainerId,
        (source, index): (DatanodeId, u32),
        target: DatanodeId,
        until: Millis,
    ) -> Self {
        let task = Task::Copy { source, index };
        let kind = OrderKind::ReplicateContainer { id, target };
        Self {
            tasks: smallvec![Pending { node: target, task, until }],
            order: Order { node: source, kind },
            why: None,
        }
    }

    /// A node deletes its replica, which has that index.
    pub fn delete(id: ContainerId, (node, index): (DatanodeId, u32), until: Millis) -> Self {
        let kind = OrderKind::DeleteContainer { id, index, force: true };
        let task = Task::Delete;
        let tasks = smallvec![Pending { node, task, until }];
        Self { tasks, order: Order { node, kind }, why: None }
    }

    /// Returns `true` if it deletes the replica of that node.
    pub fn deletes_from(&self, node: DatanodeId) -> bool {
        self.order.node == node && matches!(self.order.kind, OrderKind::DeleteContainer { .. })
    }

    /// A node moves its replica to another of its own disks.
    pub fn relocate(id: ContainerId, node: DatanodeId, until: Millis) -> Self {
        let kind = OrderKind::ReplicateContainer { id, target: node };
        Self {
            tasks: smallvec![Pending { node, task: Task::Relocate { by: node }, until }],
            order: Order { node, kind },
            why: Some(WRONG_DISK),
        }
    }

    /// A node compares its damaged replica with those of `peers`, and fetches from them what is
    /// damaged or missing in it.
    pub fn reconcile(
        id: ContainerId,
        node: DatanodeId,
        peers: Vec<DatanodeId>,
        until: Millis,
    ) -> Self {
        let kind = OrderKind::ReconcileContainer { id, peers };
        Self {
            tasks: smallvec![Pending { node, task: Task::Reconcile { by: node }, until }],
            order: Order { node, kind },
            why: Some(NO_OTHER_NODE),
        }
    }
}
