//! The replica count of a closed erasure coded container: which of its replica indexes are where.
//!
//! A **good** replica is CLOSED and has an index of the group. What serves, is heard of, leaves or
//! is in maintenance is as for full copies ([`count`](super::count)).

use std::collections::{BTreeMap, BTreeSet};

use proto::hdds::LifeCycleState;
use types::{DatanodeId, EcConfig, OperationalState, ReplicationConfig};

use super::count::{ReplicaCount, mixed};
use super::pending::{Pending, Task};
use crate::{Cluster, Container, Health, Millis, Order, OrderKind, ReplicaState};

/// More than any code has: counts over the indexes come to an end whatever a record says.
const MAX_INDEXES: u32 = 256;

/// The indexes of a group, by what their replicas count for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EcReplicaCount {
    /// Indexes of the group.
    pub required: u32,
    /// Indexes that it takes to read it.
    pub data: u32,
    /// Nodes in service, not dead, with a good replica, by index.
    pub serving: BTreeMap<u32, Vec<DatanodeId>>,
    /// Indexes of those whose nodes are HEALTHY and lately heard of.
    pub heard: BTreeSet<u32>,
    /// Nodes that leave, with a good replica, by index.
    pub leaving: BTreeMap<u32, Vec<DatanodeId>>,
    /// Indexes with a good replica in maintenance, or on the way there.
    pub maintenance: BTreeSet<u32>,
    /// Indexes whose replica is still being closed.
    pub closing: BTreeSet<u32>,
    /// Replicas that are not trusted, or have no index of the group.
    pub bad: usize,
}

impl EcReplicaCount {
    /// Indexes without a good replica in service or maintenance, and without one that is being
    /// closed.
    pub fn missing(&self) -> Vec<u32> {
        let here = |index: &u32| {
            self.serving.contains_key(index)
                || self.maintenance.contains(index)
                || self.closing.contains(index)
        };
        (1..=self.required).filter(|index| !here(index)).collect()
    }

    /// Whether too few indexes are left to read it.
    pub fn is_lost(&self) -> bool {
        let readable = |index: &u32| {
            self.serving.contains_key(index)
                || self.leaving.contains_key(index)
                || self.maintenance.contains(index)
                || self.closing.contains(index)
        };
        (1..=self.required).filter(readable).count() < self.data as usize
    }

    /// Whether an index is there more than once.
    pub fn has_excess(&self) -> bool {
        self.serving.values().any(|nodes| nodes.len() > 1)
    }

    /// Whether the group does without the replica of `index` on a node that goes away: for good, or
    /// for a while (`maintenance`), for which one index more than it takes to read it is enough.
    pub fn does_without(&self, index: u32, maintenance: bool) -> bool {
        if self.serving.contains_key(&index) && (maintenance || self.heard.contains(&index)) {
            return true;
        }
        maintenance && self.serving.len() > self.data as usize
    }
}

impl Cluster {
    /// The replica count of a CLOSED erasure coded container; `None` for any other.
    pub fn ec_replica_count(&self, c: &Container) -> Option<EcReplicaCount> {
        self.ec_replica_count_at(c, None)
    }

    fn ec_replica_count_at(&self, c: &Container, now: Option<Millis>) -> Option<EcReplicaCount> {
        let ReplicationConfig::Ec(EcConfig { data, .. }) = c.config else { return None };
        if c.state != LifeCycleState::Closed {
            return None;
        }
        let required = c.config.required_nodes();
        if required > MAX_INDEXES {
            return None;
        }
        let mut s = EcReplicaCount { required, data, ..EcReplicaCount::default() };
        for replica in self.replicas.of(c.id) {
            let Some(node) = self.nodes.get(replica.node) else { continue };
            let index = replica.replica_index;
            let is_dead = node.health == Health::Dead;
            let in_service = node.details.op_state == OperationalState::InService;
            if !replica.state.is_final() && in_service && !is_dead {
                s.closing.insert(index);
                continue;
            }
            if replica.state != ReplicaState::Closed || !(1..=required).contains(&index) {
                s.bad = s.bad.saturating_add(1);
                continue;
            }
            match node.details.op_state {
                OperationalState::InService if !is_dead => {
                    s.serving.entry(index).or_default().push(replica.node);
                    if self.is_heard(node, now) {
                        s.heard.insert(index);
                    }
                }
                OperationalState::InService => {}
                OperationalState::Decommissioning | OperationalState::Decommissioned => {
                    if !is_dead {
                        s.leaving.entry(index).or_default().push(replica.node);
                    }
                }
                OperationalState::EnteringMaintenance | OperationalState::InMaintenance => {
                    s.maintenance.insert(index);
                }
            }
        }
        Some(s)
    }

    /// The next thing to do for a container: an index that only a leaving node has is copied. One
    /// copy of a container at a time.
    pub(super) fn repair_ec(
        &self,
        c: &Container,
        now: Millis,
        until: Millis,
    ) -> Option<(Pending, Order)> {
        let count = self.ec_replica_count_at(c, Some(now))?;
        if self.pending.of(c.id).iter().any(|p| matches!(p.task, Task::Copy { .. })) {
            return None;
        }
        let source = count.missing().iter().find_map(|index| {
            let sends = |node: &&DatanodeId| self.may_send(**node);
            let from = count.leaving.get(index)?.iter().filter(sends);
            from.min_by_key(|node| mixed(c.id, **node)).copied()
        })?;
        let serving = count.serving.values().flatten().copied().collect();
        let placed = ReplicaCount { serving, ..ReplicaCount::default() };
        let target = self.choose_target(c, &placed, false)?;
        let pending = Pending { node: target, task: Task::Copy { source }, until };
        Some((
            pending,
            Order { node: source, kind: OrderKind::ReplicateContainer { id: c.id, target } },
        ))
    }

    /// The health of a settled erasure coded container.
    pub(super) fn health_of_ec(&self, c: &Container, s: &EcReplicaCount) -> &'static str {
        let replicas = self.replicas.of(c.id);
        if c.keys == 0 && replicas.iter().all(|r| r.is_empty) {
            return "EMPTY";
        }
        match (s.is_lost(), s.missing().is_empty()) {
            (true, _) if replicas.is_empty() => "MISSING",
            (true, _) if s.bad > 0 => "UNHEALTHY_UNDER_REPLICATED",
            (true, _) => "MISSING_UNDER_REPLICATED",
            (false, false) => "UNDER_REPLICATED",
            (false, true) if s.bad > 0 => "UNHEALTHY",
            (false, true) if s.has_excess() => "OVER_REPLICATED",
            (false, true) => "HEALTHY",
        }
    }
}
