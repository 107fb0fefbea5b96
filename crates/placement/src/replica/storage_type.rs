//! Replicas on disks of another storage type than their container belongs on: a repair found no
//! room on the right ones, or the type of a data directory was changed.
//!
//! They are put right when nothing else is to be done for their container, and none more urgent is
//! held back. Where the node has a disk of the right type with room, it moves its replica there
//! itself. Else a node that has gets a copy, and the replica on the wrong disk is the one too many
//! then (`repair.rs`, `ec_delete.rs`), under the conditions of every deletion.
//!
//! A node may find no room in the end: what was tried is not tried again for a while, so that no
//! replica is copied to and fro.

use proto::hdds::LifeCycleState;
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use types::{ContainerId, DatanodeId, StorageType};

use super::count::mixed;
use super::repair::Repair;
use crate::cluster::Cluster;
use crate::state::container::Container;
use crate::state::node::Node;
use crate::state::order::{Order, OrderKind};
use crate::state::pending::{Pending, Task};
use crate::time::Millis;

/// Why it is done, for operators.
const WHY: &str = "it is on a disk of another storage type";

/// What is known of replicas on disks of another storage type (soft).
#[derive(Debug, Default)]
pub struct StorageTypeRepairs {
    /// Types of which some node has a disk with room, as of the beginning of the round.
    roomy: Vec<StorageType>,
    /// Replicas that were to move, and until when they are not tried again.
    tried: FxHashMap<(ContainerId, DatanodeId), Millis>,
}

impl StorageTypeRepairs {
    /// Remembers that a replica is to move.
    pub(super) fn note(&mut self, id: ContainerId, node: DatanodeId, until: Millis) {
        self.tried.insert((id, node), until);
    }
}

impl Cluster {
    /// A round over all containers begins.
    pub(super) fn begin_storage_type_round(&mut self, now: Millis) {
        let has_room = |of: &StorageType| {
            self.nodes.iter().any(|n| n.accepts_writes() && n.has_room_of(*of, 0))
        };
        let roomy = StorageType::ALL.into_iter().filter(has_room).collect();
        self.storage_types.roomy = roomy;
        self.storage_types.tried.retain(|_, until| *until > now);
    }

    /// Whether the replica on a node is on a disk of another type than it belongs on.
    pub(super) fn is_on_wrong_disk(&self, c: &Container, node: DatanodeId) -> bool {
        self.replicas.on(c.id, node).is_some_and(|r| r.storage_type != c.storage_type)
    }

    /// Those of these nodes whose replica could be on a disk of the right type, and is not.
    pub(super) fn on_wrong_disks<'a>(
        &'a self,
        c: &'a Container,
        heard: impl Iterator<Item = &'a DatanodeId> + 'a,
    ) -> impl Iterator<Item = DatanodeId> + 'a {
        let settled = self.settings.replication.storage_types
            && c.state == LifeCycleState::Closed
            && self.storage_types.roomy.contains(&c.storage_type);
        let is_wrong = move |node: &DatanodeId| {
            settled
                && self.is_on_wrong_disk(c, *node)
                && !self.storage_types.tried.contains_key(&(c.id, *node))
                && self.pending.of(c.id).is_empty()
                && self.moves.of(c.id).is_none()
        };
        heard.copied().filter(is_wrong)
    }

    /// Has one of these replicas brought to a disk of the right type. All others of the container
    /// are as they should be.
    pub(super) fn bring_to_type<'a>(
        &'a self,
        c: &'a Container,
        heard: impl Iterator<Item = &'a DatanodeId> + 'a,
        until: Millis,
    ) -> Option<Repair> {
        if self.is_copying_enough() || !self.urgency.has_time() {
            return None;
        }
        self.on_wrong_disks(c, heard).find_map(|source| {
            let node = self.nodes.get(source).filter(|_| self.may_send(source))?;
            let index = self.replicas.on(c.id, source)?.replica_index;
            if node.has_room_of(c.storage_type, c.used_bytes) {
                return Some(Repair::relocate(c.id, source, until));
            }
            let fits = |n: &&Node| self.may_get(c, source, n).is_ok();
            let rank = |n: &&Node| {
                let id = n.details.id;
                (self.pending.receiving(id), n.used_percent(), mixed(c.id, id))
            };
            let target = self.nodes.iter().filter(fits).min_by_key(rank)?.details.id;
            let copy = Repair::copy(c.id, (source, index), target, until);
            Some(Repair { why: Some(WHY), ..copy })
        })
    }
}

impl Repair {
    /// A node moves its replica to another of its own disks.
    fn relocate(id: ContainerId, node: DatanodeId, until: Millis) -> Self {
        let kind = OrderKind::ReplicateContainer { id, target: node };
        Self {
            tasks: smallvec![Pending { node, task: Task::Relocate { by: node }, until }],
            order: Order { node, kind },
            why: Some(WHY),
        }
    }
}
