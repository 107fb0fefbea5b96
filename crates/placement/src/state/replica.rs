//! Replicas: the copies of containers that DataNodes report.

use std::collections::BTreeSet;

use proto::scm_datanode::container_replica_proto::State;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use types::{ContainerId, DatanodeId, ReplicationConfig, StorageType};

/// State of a replica, as its node reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum ReplicaState {
    Open,
    Closing,
    QuasiClosed,
    Closed,
    Unhealthy,
    Invalid,
    Deleted,
}

impl ReplicaState {
    /// The wire's enum.
    pub fn to_wire(self) -> State {
        match self {
            Self::Open => State::Open,
            Self::Closing => State::Closing,
            Self::QuasiClosed => State::QuasiClosed,
            Self::Closed => State::Closed,
            Self::Unhealthy => State::Unhealthy,
            Self::Invalid => State::Invalid,
            Self::Deleted => State::Deleted,
        }
    }

    /// From the wire; `None` for a number that is none of the enum.
    pub fn from_wire(state: i32) -> Option<Self> {
        Some(match State::try_from(state).ok()? {
            State::Open => Self::Open,
            State::Closing => Self::Closing,
            State::QuasiClosed => Self::QuasiClosed,
            State::Closed => Self::Closed,
            State::Unhealthy => Self::Unhealthy,
            State::Invalid => Self::Invalid,
            State::Deleted => Self::Deleted,
        })
    }

    /// Returns `true` if the replica takes no more writes by itself.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Open | Self::Closing)
    }
}

/// A replica, as its node reported it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// The node that has it.
    pub node: DatanodeId,
    /// Its state.
    pub state: ReplicaState,
    /// Bytes in it.
    pub used_bytes: u64,
    /// Blocks in it.
    pub keys: u64,
    /// Highest block commit sequence id in it.
    pub sequence_id: u64,
    /// The node that made it; differs from `node` for a copy.
    pub origin: DatanodeId,
    /// EC replica index, else 0.
    pub replica_index: u32,
    /// The storage type of the disk that it is on.
    pub storage_type: StorageType,
    /// True if the node reports it as empty.
    pub is_empty: bool,
    /// Checksum over its data, 0 when not computed.
    pub data_checksum: i64,
    /// The last transaction of the deletion log up to which its node has taken all that are for it.
    pub delete_transaction: u64,
    /// True if it may have blocks that were deleted, as of its report: its node has not applied a
    /// transaction that all others had confirmed by then, and that SCM has forgotten.
    pub lags: bool,
}

/// All replicas, by container and by node.
#[derive(Debug, Default)]
pub struct Replicas {
    by_container: FxHashMap<ContainerId, SmallVec<[Replica; 3]>>,
    by_node: FxHashMap<DatanodeId, FxHashSet<ContainerId>>,
    /// Containers of which an empty replica was reported: those worth looking at for deletion.
    pub(crate) empty: BTreeSet<ContainerId>,
    /// Erasure coded containers that are deleted, and of which a replica with blocks was reported.
    pub(crate) left_over: BTreeSet<ContainerId>,
}

impl Replicas {
    /// The replicas of a container.
    pub fn of(&self, container: ContainerId) -> &[Replica] {
        self.by_container.get(&container).map(SmallVec::as_slice).unwrap_or_default()
    }

    /// The replica of a container on a node.
    pub fn on(&self, container: ContainerId, node: DatanodeId) -> Option<&Replica> {
        self.of(container).iter().find(|r| r.node == node)
    }

    /// The containers that a node has a replica of.
    pub fn on_node(&self, node: DatanodeId) -> impl Iterator<Item = ContainerId> + '_ {
        self.by_node.get(&node).into_iter().flatten().copied()
    }

    /// Number of replicas on a node.
    pub fn count_on(&self, node: DatanodeId) -> usize {
        self.by_node.get(&node).map_or(0, FxHashSet::len)
    }

    /// Returns `true` if no known replica is empty.
    pub fn none_is_empty(&self) -> bool {
        self.empty.is_empty()
    }

    /// Replicas of a container that can be read; of an erasure coded one, different indexes of its
    /// group.
    pub(crate) fn different(&self, id: ContainerId, config: Option<ReplicationConfig>) -> usize {
        let of = self.of(id).iter();
        let readable =
            of.filter(|r| !matches!(r.state, ReplicaState::Unhealthy | ReplicaState::Invalid));
        match config {
            Some(config) if config.is_ec() => {
                let indexes = readable.map(|r| r.replica_index);
                let indexes: BTreeSet<u32> =
                    indexes.filter(|i| (1..=config.required_nodes()).contains(i)).collect();
                indexes.len()
            }
            _ => readable.count(),
        }
    }

    pub(crate) fn put(&mut self, container: ContainerId, replica: Replica) {
        self.by_node.entry(replica.node).or_default().insert(container);
        if replica.is_empty {
            self.empty.insert(container);
        }
        let replicas = self.by_container.entry(container).or_default();
        match replicas.iter_mut().find(|r| r.node == replica.node) {
            Some(known) => *known = replica,
            None => replicas.push(replica),
        }
    }

    pub(crate) fn remove(&mut self, container: ContainerId, node: DatanodeId) {
        if let Some(set) = self.by_node.get_mut(&node) {
            set.remove(&container);
        }
        if let Some(replicas) = self.by_container.get_mut(&container) {
            replicas.retain(|r| r.node != node);
            if replicas.is_empty() {
                self.by_container.remove(&container);
            }
        }
    }

    pub(crate) fn forget_node(&mut self, node: DatanodeId) {
        for container in self.by_node.remove(&node).into_iter().flatten() {
            self.remove(container, node);
        }
    }
}
