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
use types::{ContainerId, DatanodeId, StorageType};

use super::Repairing;
use super::order::Repair;
use super::order::WRONG_DISK;
use crate::shuffle::mixed;
use crate::state::container::Container;
use crate::state::node::Node;
use crate::state::nodes::Nodes;
use crate::state::replica::Replicas;
use crate::time::Millis;

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

    /// A round over all containers begins.
    pub(super) fn begin_round(&mut self, nodes: &Nodes, now: Millis) {
        let has_room =
            |of: &StorageType| nodes.iter().any(|n| n.accepts_writes() && n.has_room_of(*of, 0));
        self.roomy = StorageType::ALL.into_iter().filter(has_room).collect();
        self.tried.retain(|_, until| *until > now);
    }
}

impl Repairing<'_> {
    /// Those of these nodes whose replica could be on a disk of the right type, and is not.
    pub(super) fn on_wrong_disks<'a>(
        &'a self,
        c: &'a Container,
        heard: impl Iterator<Item = &'a DatanodeId> + 'a,
    ) -> impl Iterator<Item = DatanodeId> + 'a {
        let settled = self.on.settings.replication.storage_types
            && c.state == LifeCycleState::Closed
            && self.storage_types.roomy.contains(&c.storage_type);
        let is_wrong = move |node: &DatanodeId| {
            settled
                && is_on_wrong_disk(self.on.replicas, c, *node)
                && !self.storage_types.tried.contains_key(&(c.id, *node))
                && self.on.pending.of(c.id).is_empty()
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
        if self.on.is_copying_enough() || !self.urgency.has_time() {
            return None;
        }
        self.on_wrong_disks(c, heard).find_map(|source| {
            let node = self.on.nodes.get(source).filter(|_| self.on.may_send(source))?;
            let index = self.on.replicas.on(c.id, source)?.replica_index;
            if node.has_room_of(c.storage_type, c.used_bytes) {
                return Some(Repair::relocate(c.id, source, until));
            }
            let fits = |n: &&Node| self.on.may_get(c, source, n).is_ok();
            let rank = |n: &&Node| {
                let id = n.details.id;
                (self.on.pending.receiving(id), n.used_percent(), mixed(c.id, id))
            };
            let target = self.on.nodes.iter().filter(fits).min_by_key(rank)?.details.id;
            let copy = Repair::copy(c.id, (source, index), target, until);
            Some(Repair { why: Some(WRONG_DISK), ..copy })
        })
    }
}

/// Whether the replica on a node is on a disk of another type than it belongs on.
pub(super) fn is_on_wrong_disk(replicas: &Replicas, c: &Container, node: DatanodeId) -> bool {
    replicas.on(c.id, node).is_some_and(|r| r.storage_type != c.storage_type)
}
