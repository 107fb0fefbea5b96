//! A DataNode: its identity, its health, its space.

use std::fmt;

use proto::hdds::NodeState;
use types::{DatanodeDetails, OperationalState, StorageType};

use super::left_bytes::LeftBytes;
use crate::time::Millis;

/// Health of a node, by the age of its last heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Health {
    /// Its last heartbeat is recent.
    Healthy,
    /// It has missed heartbeats for a while: it gets nothing new.
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
    /// Type of its disk.
    pub storage_type: StorageType,
    /// Bytes the store may use.
    pub capacity: u64,
    /// Bytes used by containers.
    pub used: u64,
    /// Free bytes.
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
    /// True if the node has marked the directory as failed.
    pub failed: bool,
}

/// A DataNode.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its identity and addresses.
    pub details: DatanodeDetails,
    /// Its health.
    pub health: Health,
    /// Time of its last heartbeat.
    pub last_heartbeat: Millis,
    /// Time of its last registration.
    pub registered: Millis,
    /// Its data directories.
    pub storage: Vec<Storage>,
    /// Time at which it began to leave service; `None` if it does not leave.
    pub leaving_since: Option<Millis>,
    /// Recent values of its remaining bytes, while it leaves.
    pub left_bytes: LeftBytes,
    /// The storage types of the disks whose Raft log directories work, as it reports them; `None`
    /// when it does not.
    pub log_disks: Option<Vec<StorageType>>,
    /// True if it has reported its replicas since it received the term of this leader: from then on
    /// it rejects orders of earlier leaders.
    pub confirmed: bool,
}

impl Node {
    /// Returns `true` if its replicas certainly exist. With a time, a last heartbeat that is older
    /// than `stale_after` by then counts as missed, even if nodes were not checked since.
    pub fn is_heard(&self, now: Option<Millis>, stale_after: Millis) -> bool {
        let lately = now.is_none_or(|now| now.saturating_sub(self.last_heartbeat) < stale_after);
        self.health == Health::Healthy && self.confirmed && lately
    }

    /// Returns `true` if it may get new pipelines and blocks.
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

    /// Returns `true` if one of its data directories can take a container of that many bytes.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        StorageType::ALL.into_iter().any(|of| self.has_room_of(of, bytes))
    }

    /// Returns `true` if one of its disks of that type can take a container of that many bytes.
    pub fn has_room_of(&self, storage_type: StorageType, bytes: u64) -> bool {
        let fits = |s: &Storage| s.remaining > bytes.saturating_add(s.free_space_to_spare);
        self.of_type(storage_type).any(fits)
    }

    /// Rank of the disk that a container of that many bytes would get on this node: 0 for its own
    /// type, else the number of types before that of the disk which has room. More than that when
    /// no disk has.
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

    pub(crate) fn of_type(&self, storage_type: StorageType) -> impl Iterator<Item = &Storage> {
        self.storage.iter().filter(move |s| !s.failed && s.storage_type == storage_type)
    }

    /// Bytes that its disks accept, without the reserved space.
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
