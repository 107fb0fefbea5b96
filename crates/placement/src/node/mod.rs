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
use types::{DatanodeDetails, DatanodeId, OperationalState};

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
    /// Raft log directories that work, as it reports them; `None` when it does not.
    pub log_disks: Option<usize>,
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
        self.storage.iter().filter(|s| !s.failed && s.remaining > 0).count()
    }

    /// Raft log directories that work: what decides how many pipelines it can take part in.
    pub fn log_disks(&self) -> usize {
        self.log_disks.unwrap_or_else(|| self.healthy_disks())
    }

    /// Whether one of its data directories can take a container of that many bytes.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        self.storage
            .iter()
            .any(|s| !s.failed && s.remaining > bytes.saturating_add(s.free_space_to_spare))
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
        let mut total = Storage::default();
        for s in self.storage.iter().filter(|s| !s.failed) {
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

    /// Adds a node, or what it has become.
    fn put(&mut self, node: Node) {
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

    /// Takes over how many Raft log directories of a node work.
    pub fn set_log_disks(&mut self, id: DatanodeId, disks: Option<usize>) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.log_disks = disks;
        }
    }
}
