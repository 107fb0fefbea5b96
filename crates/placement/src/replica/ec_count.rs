//! The replica count of a closed erasure coded container: which of its replica indexes are where.
//!
//! A **good** replica is CLOSED and has an index of the group. Serving, reachable, leaving and in
//! maintenance are defined as for full copies ([`count`](super::count)), for each index separately.
//! An index whose only replica is in maintenance counts while enough others to read the container,
//! and some more (`hdds.scm.replication.maintenance.remaining.redundancy`), are online.

use std::collections::{BTreeMap, BTreeSet};

use proto::hdds::LifeCycleState;
use types::{DatanodeId, EcConfig, OperationalState, ReplicationConfig};

use super::Replication;
use crate::shuffle::mixed;
use crate::state::container::Container;
use crate::state::node::Health;
use crate::state::pending::{Pending, Task};
use crate::state::replica::{Replica, ReplicaState};
use crate::time::Millis;

/// The most a code can have: an order names each index in one byte.
const MAX_INDEXES: u32 = 255;

/// Nodes with a replica, by its index.
pub type ByIndex = BTreeMap<u32, Vec<DatanodeId>>;

/// The indexes of a group, by what their replicas count for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EcReplicaCount {
    /// Indexes of the group.
    pub required: u32,
    /// Indexes that it takes to read it.
    pub data: u32,
    /// Indexes that must stay online when others are in maintenance.
    pub online: u32,
    /// Nodes in service, not dead, with a good replica.
    pub serving: ByIndex,
    /// Those of them that are HEALTHY with a recent heartbeat, in an order that is the same on
    /// every SCM.
    pub heard: ByIndex,
    /// Nodes that leave, with a good replica.
    pub leaving: ByIndex,
    /// Nodes in maintenance, or on the way there, with a good replica.
    pub maintenance: ByIndex,
    /// Nodes whose replica is still being closed.
    pub closing: ByIndex,
    /// Nodes that a replica is on the way to.
    pub coming: ByIndex,
    /// Nodes that are deleting their good replica.
    pub going: Vec<DatanodeId>,
    /// Nodes whose good replica may have blocks that were deleted while it was down. It counts like
    /// any other: it lacks nothing.
    pub lagging: BTreeSet<DatanodeId>,
    /// Nodes whose replica is not trusted, or has no index of the group; in an order that is the
    /// same on every SCM.
    pub bad: Vec<(u32, DatanodeId)>,
}

impl EcReplicaCount {
    /// Indexes without a good replica in service or maintenance, and without one that is being
    /// closed; with `coming`, pending ones count as present.
    pub fn missing(&self, coming: bool) -> Vec<u32> {
        let there =
            |index: &u32| self.is_online(*index, coming) || self.maintenance.contains_key(index);
        (1..=self.required).filter(|index| !there(index)).collect()
    }

    /// Indexes to create or copy: the missing ones, and of those in maintenance the number that
    /// must be online in addition.
    pub fn needed(&self, coming: bool) -> Vec<u32> {
        let mut needed = self.missing(coming);
        let online = (1..=self.required).filter(|index| self.is_online(*index, coming)).count();
        let online = online.saturating_add(needed.len());
        let more = (self.online as usize).saturating_sub(online);
        let away = self.maintenance.keys().filter(|index| !self.is_online(**index, coming));
        needed.extend(away.take(more));
        needed
    }

    fn is_online(&self, index: u32, coming: bool) -> bool {
        self.serving.contains_key(&index)
            || self.closing.contains_key(&index)
            || (coming && self.coming.contains_key(&index))
    }

    /// Different indexes that can be read, or will be.
    pub fn readable(&self) -> usize {
        let readable = |index: &u32| {
            self.is_online(*index, false)
                || self.leaving.contains_key(index)
                || self.maintenance.contains_key(index)
        };
        (1..=self.required).filter(readable).count()
    }

    /// Returns `true` if too few indexes are left to read it.
    pub fn is_lost(&self) -> bool {
        self.readable() < self.data as usize
    }

    /// Returns `true` if an index exists more than once.
    pub fn has_excess(&self) -> bool {
        self.serving.values().any(|nodes| nodes.len() > 1)
    }

    /// Returns `true` if no repair is needed, apart from racks.
    pub fn is_fine(&self) -> bool {
        self.closing.is_empty()
            && self.needed(false).is_empty()
            && !self.has_excess()
            && self.bad.is_empty()
    }

    /// Returns `true` if `node`, which leaves or enters maintenance, has the good replica of
    /// `index`.
    pub fn is_on_its_way(&self, index: u32, node: DatanodeId) -> bool {
        [&self.leaving, &self.maintenance]
            .iter()
            .any(|by_index| by_index.get(&index).is_some_and(|nodes| nodes.contains(&node)))
    }

    /// Returns `true` if the group can lose the replica of `index` on a node that leaves:
    /// permanently, or for a while (`maintenance`).
    pub fn does_without(&self, index: u32, maintenance: bool) -> bool {
        if maintenance {
            return self.serving.contains_key(&index)
                || self.serving.len() >= self.online as usize
                // Nothing can be recovered.
                || self.is_lost();
        }
        // Replicas on unreachable nodes may be lost when this one leaves.
        let elsewhere = self.heard.contains_key(&index) || self.maintenance.contains_key(&index);
        elsewhere && !self.needed(false).contains(&index)
    }
}

impl Replication<'_> {
    /// The replica count of a CLOSED erasure coded container; `None` for any other.
    pub fn ec_replica_count(&self, c: &Container) -> Option<EcReplicaCount> {
        self.ec_replica_count_at(c, None)
    }

    pub fn ec_replica_count_at(
        &self,
        c: &Container,
        now: Option<Millis>,
    ) -> Option<EcReplicaCount> {
        let ReplicationConfig::Ec(EcConfig { data, .. }) = c.config else { return None };
        if c.state != LifeCycleState::Closed {
            return None;
        }
        let required = c.config.required_nodes();
        if required > MAX_INDEXES {
            return None;
        }
        let redundancy = self.settings.replication.maintenance_redundancy;
        let online = data.saturating_add(redundancy).min(required);
        let mut s = EcReplicaCount { required, data, online, ..EcReplicaCount::default() };
        for replica in self.replicas.of(c.id) {
            self.count_ec_replica(c, replica, now, &mut s);
        }
        for pending in self.pending.of(c.id) {
            if let Some(index) = pending.task.comes() {
                s.coming.entry(index).or_default().push(pending.node);
            }
        }
        // Replicas are stored in the order of their reports, which differs from SCM to SCM.
        for nodes in s.heard.values_mut() {
            nodes.sort_unstable_by_key(|node| mixed(c.id, *node));
        }
        s.bad.sort_unstable_by_key(|(_, node)| mixed(c.id, *node));
        Some(s)
    }

    fn count_ec_replica(
        &self,
        c: &Container,
        replica: &Replica,
        now: Option<Millis>,
        s: &mut EcReplicaCount,
    ) {
        use OperationalState::{
            Decommissioned, Decommissioning, EnteringMaintenance, InMaintenance, InService,
        };
        let Some(node) = self.nodes.get(replica.node) else { return };
        let (id, index) = (replica.node, replica.replica_index);
        let is_dead = node.health == Health::Dead;
        let closes = !replica.state.is_final()
            || (replica.state == ReplicaState::QuasiClosed && replica.sequence_id >= c.sequence_id);
        if closes && !is_dead {
            s.closing.entry(index).or_default().push(id);
            return;
        }
        if replica.state != ReplicaState::Closed || !(1..=s.required).contains(&index) {
            s.bad.push((index, id));
            return;
        }
        let is_going = |p: &Pending| p.node == id && p.task == Task::Delete;
        if self.pending.of(c.id).iter().any(is_going) {
            s.going.push(id);
            return;
        }
        if replica.lags {
            s.lagging.insert(id);
        }
        match node.details.op_state {
            InService if !is_dead => {
                s.serving.entry(index).or_default().push(id);
                if node.is_heard(now, self.settings.stale_after) {
                    s.heard.entry(index).or_default().push(id);
                }
            }
            Decommissioning | Decommissioned if !is_dead => {
                s.leaving.entry(index).or_default().push(id);
            }
            InService | Decommissioning | Decommissioned => {}
            EnteringMaintenance | InMaintenance => {
                s.maintenance.entry(index).or_default().push(id);
            }
        }
    }
}
