//! DataNodes: their identities, their health, their space.

mod destination;
mod leave;
mod progress;
mod register;
mod serve;
mod watch;

pub use destination::{DestinationChoice, DestinationError, Destinations};
pub use leave::{LeavingNode, Obstacles};
pub(crate) use progress::Refuses;
pub use progress::{Blocked, LeavingProgress, LeftBytes, Refused};
pub use register::Registered;
pub use serve::ServeError;
pub use watch::Shift;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use proto::hdds::NodeState;
use types::{DatanodeDetails, DatanodeId, OperationalState, StorageType};

use crate::Millis;

/// How a node is, by the age of its last heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Health {
    /// Heard of lately.
    Healthy,
    /// Not heard of for a while: nothing new is given to it.
    Stale,
    /// Given up: its replicas do not count.
    Dead,
}

impl Health {
    /// The wire's enum.
    pub fn to_wire(self) -> NodeState {
        match self {
            Self::Healthy => NodeState::Healthy,
            Self::Stale => NodeState::Stale,
            Self::Dead => NodeState::Dead,
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_wire().as_str_name())
    }
}

/// One data directory of a node, as it reports it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Storage {
    /// `DS-<uuid>`.
    pub id: String,
    /// Path on the node.
    pub location: String,
    /// What kind of disk it is on.
    pub storage_type: StorageType,
    /// Bytes the store may use.
    pub capacity: u64,
    /// Bytes used by containers.
    pub used: u64,
    /// Bytes left.
    pub remaining: u64,
    /// Bytes promised to open containers.
    pub committed: u64,
    /// Bytes that are kept free.
    pub free_space_to_spare: u64,
    /// Bytes not for the store.
    pub reserved: u64,
    /// Size of the file system.
    pub fs_capacity: u64,
    /// Free bytes of the file system.
    pub fs_available: u64,
    /// Whether the node has given the directory up.
    pub failed: bool,
}

/// A DataNode.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its identity and addresses.
    pub details: DatanodeDetails,
    /// How it is.
    pub health: Health,
    /// When it was last heard of.
    pub last_heartbeat: Millis,
    /// When it registered last.
    pub registered: Millis,
    /// Its data directories.
    pub storage: Vec<Storage>,
    /// Since when it is on its way out of service; `None` when it is not.
    pub leaving_since: Option<Millis>,
    /// How much it had left of late, while it is on its way.
    pub left_bytes: LeftBytes,
    /// The storage types of the disks whose Raft log directories work, as it reports them; `None`
    /// when it does not.
    pub log_disks: Option<Vec<StorageType>>,
    /// Whether it has told what it has since it knows that this SCM leads: orders of earlier
    /// leaders change that no more.
    pub confirmed: bool,
}

impl Node {
    /// Whether new pipelines and blocks may be given to it.
    pub fn accepts_writes(&self) -> bool {
        self.health == Health::Healthy
            && self.details.op_state == OperationalState::InService
            && self.healthy_disks() > 0
    }

    /// Data directories that work and have room.
    pub fn healthy_disks(&self) -> usize {
        let counts = StorageType::ALL.map(|of| self.healthy_disks_of(of));
        counts.into_iter().fold(0, usize::saturating_add)
    }

    /// Data directories on disks of that type that work and have room.
    pub fn healthy_disks_of(&self, storage_type: StorageType) -> usize {
        self.of_type(storage_type).filter(|s| s.remaining > 0).count()
    }

    /// Raft log directories of disks of that type that work: what decides how many pipelines it can
    /// take part in.
    pub fn log_disks_of(&self, storage_type: StorageType) -> usize {
        match &self.log_disks {
            Some(all) => all.iter().filter(|of| **of == storage_type).count(),
            None => self.healthy_disks_of(storage_type),
        }
    }

    /// Whether one of its data directories can take a container of that many bytes.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        StorageType::ALL.into_iter().any(|of| self.has_room_of(of, bytes))
    }

    /// Whether one of its disks of that type can take a container of that many bytes.
    pub fn has_room_of(&self, storage_type: StorageType, bytes: u64) -> bool {
        let fits = |s: &Storage| s.remaining > bytes.saturating_add(s.free_space_to_spare);
        self.of_type(storage_type).any(fits)
    }

    /// How far a container of that many bytes is from the disks that it belongs on if it comes to
    /// this node: 0 for one of its type, else how many types come before that of the disk which has
    /// room. More than that when no disk has.
    pub fn detour(&self, storage_type: StorageType, bytes: u64) -> usize {
        let [second, third] = storage_type.instead();
        let types = [storage_type, second, third];
        let fits = |of: &StorageType| self.has_room_of(*of, bytes);
        types.iter().position(fits).unwrap_or(types.len())
    }

    /// Capacity and use of its disks of that type.
    pub fn total_of(&self, storage_type: StorageType) -> Storage {
        Self::sum(self.of_type(storage_type))
    }

    fn of_type(&self, storage_type: StorageType) -> impl Iterator<Item = &Storage> {
        self.storage.iter().filter(move |s| !s.failed && s.storage_type == storage_type)
    }

    /// Bytes that its disks take besides what they keep free.
    pub fn room(&self) -> u64 {
        let works = self.storage.iter().filter(|s| !s.failed);
        let of_disk = |s: &Storage| s.remaining.saturating_sub(s.free_space_to_spare);
        works.map(of_disk).fold(0, u64::saturating_add)
    }

    /// Used share of its data directories, in per cent.
    pub fn used_percent(&self) -> u64 {
        let total = self.total();
        let used = total.capacity.saturating_sub(total.remaining);
        let percent = u128::from(used).saturating_mul(100).checked_div(u128::from(total.capacity));
        percent.and_then(|percent| u64::try_from(percent).ok()).unwrap_or(100)
    }

    /// Sums over the data directories that have not failed.
    pub fn total(&self) -> Storage {
        Self::sum(self.storage.iter().filter(|s| !s.failed))
    }

    fn sum<'a>(storage: impl Iterator<Item = &'a Storage>) -> Storage {
        let mut total = Storage::default();
        for s in storage {
            let sum = u64::saturating_add;
            total.capacity = sum(total.capacity, s.capacity);
            total.used = sum(total.used, s.used);
            total.remaining = sum(total.remaining, s.remaining);
            total.committed = sum(total.committed, s.committed);
            total.free_space_to_spare = sum(total.free_space_to_spare, s.free_space_to_spare);
            total.reserved = sum(total.reserved, s.reserved);
            total.fs_capacity = sum(total.fs_capacity, s.fs_capacity);
            total.fs_available = sum(total.fs_available, s.fs_available);
        }
        total
    }
}

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

    /// Whether no node has registered.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Number of racks that nodes are in.
    pub fn racks(&self) -> usize {
        self.racks
    }

    /// Whether the disks of that type of a node have no room left, as far as it has told.
    pub fn is_full(&self, storage_type: StorageType, id: DatanodeId) -> bool {
        self.full.contains(&(storage_type, id))
    }

    /// Whether that is so of any node.
    pub fn any_full(&self, storage_type: StorageType) -> bool {
        let all = (storage_type, DatanodeId(uuid::Uuid::nil()))
            ..=(storage_type, DatanodeId(uuid::Uuid::max()));
        self.full.range(all).next().is_some()
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

    /// Adds a node, or what it has become.
    fn put(&mut self, node: Node) {
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

    /// Whether the node is known and HEALTHY.
    pub fn is_healthy(&self, id: DatanodeId) -> bool {
        self.get(id).is_some_and(|n| n.health == Health::Healthy)
    }

    /// Replaces what is known of a node's data directories; false when the node is unknown.
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

    /// Whether a node that has just registered knows that this SCM leads.
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
