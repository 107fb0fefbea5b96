//! All DataNodes.

use std::collections::{BTreeMap, BTreeSet};

use types::{DatanodeId, StorageType};

use super::node::{Health, Node, Storage};

/// The destinations of nodes, by the node that leaves.
pub type Destinations = BTreeMap<DatanodeId, DatanodeId>;

/// All DataNodes that have registered since the start.
#[derive(Debug, Default)]
pub struct Nodes {
    nodes: BTreeMap<DatanodeId, Node>,
    /// Different racks of all nodes.
    racks: usize,
    /// Nodes that have disks of a type, and no room on any of them.
    full: BTreeSet<(StorageType, DatanodeId)>,
}

impl Nodes {
    /// The node of that id.
    pub fn get(&self, id: DatanodeId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    /// Every node, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns `true` if no node has registered.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Number of racks that nodes are in.
    pub fn racks(&self) -> usize {
        self.racks
    }

    /// Returns `true` if the disks of that type of a node have no room left, as far as it reported.
    pub fn is_full(&self, storage_type: StorageType, id: DatanodeId) -> bool {
        self.full.contains(&(storage_type, id))
    }

    /// Returns `true` if that is so of any node.
    pub fn any_full(&self, storage_type: StorageType) -> bool {
        let all = (storage_type, DatanodeId(uuid::Uuid::nil()))
            ..=(storage_type, DatanodeId(uuid::Uuid::max()));
        self.full.range(all).next().is_some()
    }

    pub(crate) fn get_mut(&mut self, id: DatanodeId) -> Option<&mut Node> {
        self.nodes.get_mut(&id)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.nodes.values_mut()
    }

    fn note_room(&mut self, id: DatanodeId) {
        let Some(node) = self.nodes.get(&id) else { return };
        for of in StorageType::ALL {
            let is_full = node.of_type(of).next().is_some() && !node.has_room_of(of, 0);
            match is_full {
                true => _ = self.full.insert((of, id)),
                false => _ = self.full.remove(&(of, id)),
            }
        }
    }

    /// Adds or updates a node.
    pub(crate) fn put(&mut self, node: Node) {
        let id = node.details.id;
        self.put_record(node);
        self.note_room(id);
    }

    fn put_record(&mut self, node: Node) {
        self.nodes.insert(node.details.id, node);
        let racks = self.nodes.values().map(|n| n.details.network_location.as_str());
        self.racks = racks.collect::<BTreeSet<_>>().len();
    }

    /// Number of nodes of that health.
    pub fn count(&self, health: Health) -> usize {
        self.iter().filter(|n| n.health == health).count()
    }

    /// Returns `true` if the node is known and HEALTHY.
    pub fn is_healthy(&self, id: DatanodeId) -> bool {
        self.get(id).is_some_and(|n| n.health == Health::Healthy)
    }

    /// Replaces the data of a node's data directories; false when the node is unknown.
    pub fn set_storage(&mut self, id: DatanodeId, storage: Vec<Storage>) -> bool {
        let Some(node) = self.nodes.get_mut(&id) else { return false };
        node.storage = storage;
        self.note_room(id);
        true
    }

    /// This SCM leads from now on: no node is [confirmed](Node::confirmed) until it registers
    /// again.
    pub fn doubt_all(&mut self) {
        self.nodes.values_mut().for_each(|node| node.confirmed = false);
    }

    /// Sets if a node's registration named this SCM as the leader.
    pub fn set_confirmed(&mut self, id: DatanodeId, confirmed: bool) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.confirmed = confirmed;
        }
    }

    /// Takes over which Raft log directories of a node work.
    pub fn set_log_disks(&mut self, id: DatanodeId, disks: Option<Vec<StorageType>>) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.log_disks = disks;
        }
    }
}
