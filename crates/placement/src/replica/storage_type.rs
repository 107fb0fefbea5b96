//! Replicas on disks of another storage type than their container belongs on.

use rustc_hash::FxHashMap;
use types::{ContainerId, DatanodeId, StorageType};

use crate::state::container::Container;
use crate::state::nodes::Nodes;
use crate::state::replica::Replicas;
use crate::time::Millis;

/// Replicas on disks of another storage type (soft).
#[derive(Debug, Default)]
pub struct StorageTypeRepairs {
    /// Types of which some node has a disk with room, as of the beginning of the round.
    roomy: Vec<StorageType>,
    /// Replicas that were to move, and until when they are not tried again.
    tried: FxHashMap<(ContainerId, DatanodeId), Millis>,
}

impl StorageTypeRepairs {
    /// Records that a replica moves.
    pub(super) fn note(&mut self, id: ContainerId, node: DatanodeId, until: Millis) {
        self.tried.insert((id, node), until);
    }

    /// Returns `true` if some node has a disk of that type with room.
    pub(super) fn is_roomy(&self, storage_type: StorageType) -> bool {
        self.roomy.contains(&storage_type)
    }

    /// Returns `true` if a move of the replica was ordered recently.
    pub(super) fn was_tried(&self, id: ContainerId, node: DatanodeId) -> bool {
        self.tried.contains_key(&(id, node))
    }

    /// A round over all containers begins.
    pub(super) fn begin_round(&mut self, nodes: &Nodes, now: Millis) {
        let has_room =
            |of: &StorageType| nodes.iter().any(|n| n.accepts_writes() && n.has_room_of(*of, 0));
        self.roomy = StorageType::ALL.into_iter().filter(has_room).collect();
        self.tried.retain(|_, until| *until > now);
    }
}

/// Returns `true` if the replica on a node is on a disk of another type than it belongs on.
pub(super) fn is_on_wrong_disk(replicas: &Replicas, c: &Container, node: DatanodeId) -> bool {
    replicas.on(c.id, node).is_some_and(|r| r.storage_type != c.storage_type)
}
