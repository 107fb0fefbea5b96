//! The replica count of a closed container: its good replicas, their nodes, and pending orders.
//!
//! Terms, for a CLOSED or QUASI_CLOSED container:
//! * a **good** replica holds all that the record has as committed, and is not UNHEALTHY;
//! * a replica **serves** when its node is in service and not dead; only those count for the
//!   replication factor;
//! * of those that serve, the **heard** ones are on nodes that are HEALTHY, have sent a recent
//!   heartbeat and have reported their replicas to this leader. Only they allow the deletion of
//!   another replica: replicas of a STALE node may be lost;
//! * on a node that is **leaving** (decommissioned or being so) it does not count, but can be
//!   copied;
//! * on a node in, or entering, **maintenance** it will be back: it counts, if the minimum that
//!   must stay online (`hdds.scm.replication.maintenance.replica.minimum`) exists in addition.

use proto::hdds::LifeCycleState;
use types::{DatanodeId, OperationalState, ReplicationConfig};

use super::Replication;
use crate::shuffle::mixed;
use crate::state::container::Container;
use crate::state::node::Health;
use crate::state::pending::Task;
use crate::state::replica::{Replica, ReplicaState, Replicas};
use crate::time::Millis;

/// The replicas of a container, by category.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplicaCount {
    /// Replicas there should be.
    pub required: usize,
    /// Nodes with a good replica that serves.
    pub serving: Vec<DatanodeId>,
    /// Those of [`serving`](Self::serving) on reachable nodes, in an order that is the same on
    /// every SCM.
    pub heard: Vec<DatanodeId>,
    /// Nodes with a good replica that are leaving.
    pub leaving: Vec<DatanodeId>,
    /// Nodes with a good replica that are in, or entering, maintenance.
    pub maintenance: Vec<DatanodeId>,
    /// Nodes whose replica lacks something, or is not trusted.
    pub bad: Vec<DatanodeId>,
    /// Nodes in service whose replica is still being closed.
    pub closing: Vec<DatanodeId>,
    /// Nodes that a copy is on the way to.
    pub coming: Vec<DatanodeId>,
    /// Nodes that are deleting their good replica.
    pub going: Vec<DatanodeId>,
    /// Replicas that must stay online when others are in maintenance.
    pub online: usize,
    /// True if all replicas that serve are in one rack although there are others.
    pub misplaced: bool,
}

impl ReplicaCount {
    /// Missing replicas; with `coming`, pending ones count as present.
    pub fn missing(&self, coming: bool) -> usize {
        let coming = if coming { self.coming.len() } else { 0 };
        let here = self.serving.len().saturating_add(self.closing.len()).saturating_add(coming);
        if self.maintenance.is_empty() {
            return self.required.saturating_sub(here);
        }
        let factor = self.required.saturating_sub(here.saturating_add(self.maintenance.len()));
        factor.max(self.online.min(self.required).saturating_sub(here))
    }

    /// Replicas beyond the required number; pending ones do not count.
    pub fn excess(&self) -> usize {
        self.serving.len().saturating_sub(self.required)
    }

    /// Surplus replicas: reachable ones beyond the required number.
    pub fn spare(&self) -> usize {
        self.heard.len().saturating_sub(self.required)
    }

    /// Returns `true` if there is no good replica anywhere.
    pub fn is_lost(&self) -> bool {
        self.serving.is_empty()
            && self.closing.is_empty()
            && self.leaving.is_empty()
            && self.maintenance.is_empty()
    }

    /// Returns `true` if no repair is needed.
    pub fn is_fine(&self) -> bool {
        self.closing.is_empty()
            && self.missing(false) == 0
            && self.excess() == 0
            && self.bad.is_empty()
            && !self.misplaced
    }
}

impl Replication<'_> {
    /// The replica count of a CLOSED or QUASI_CLOSED container; `None` for one in another state, or
    /// erasure coded. Reachability of nodes is as of the last check of all nodes.
    pub fn replica_count(&self, c: &Container) -> Option<ReplicaCount> {
        self.replica_count_at(c, None)
    }

    /// As [`replica_count`](Self::replica_count); with a time, heartbeats that are too old by then
    /// count as missed, whether or not nodes were watched since.
    pub fn replica_count_at(&self, c: &Container, now: Option<Millis>) -> Option<ReplicaCount> {
        if !matches!(c.state, LifeCycleState::Closed | LifeCycleState::QuasiClosed) {
            return None;
        }
        if matches!(c.config, ReplicationConfig::Ec(_)) {
            // Its replicas differ from each other.
            return None;
        }
        let online = self.settings.replication.maintenance_minimum as usize;
        let required = c.config.required_nodes() as usize;
        let mut s = ReplicaCount { required, online, ..ReplicaCount::default() };
        let pending = self.pending.of(c.id);
        let enough = enough_sequence(self.replicas, c);
        for replica in self.replicas.of(c.id) {
            let Some(node) = self.nodes.get(replica.node) else { continue };
            let id = replica.node;
            let in_service = node.details.op_state == OperationalState::InService;
            if !replica.state.is_final() && in_service && node.health != Health::Dead {
                s.closing.push(id);
                continue;
            }
            if !is_good(c, replica, enough) {
                s.bad.push(id);
                continue;
            }
            if pending.iter().any(|p| p.node == id && p.task == Task::Delete) {
                s.going.push(id);
                continue;
            }
            match node.details.op_state {
                OperationalState::InService if node.health != Health::Dead => {
                    s.serving.push(id);
                    if node.is_heard(now, self.settings.stale_after) {
                        s.heard.push(id);
                    }
                }
                OperationalState::InService => {}
                OperationalState::Decommissioning | OperationalState::Decommissioned => {
                    if node.health != Health::Dead {
                        s.leaving.push(id);
                    }
                }
                OperationalState::EnteringMaintenance | OperationalState::InMaintenance => {
                    s.maintenance.push(id);
                }
            }
        }
        for p in pending {
            if p.task.comes().is_some() {
                s.coming.push(p.node);
            }
        }
        // Replicas are stored in the order of their reports, which differs from SCM to SCM.
        for nodes in [&mut s.heard, &mut s.bad] {
            nodes.sort_unstable_by_key(|node| mixed(c.id, *node));
        }
        s.misplaced = required > 1 && self.in_one_rack_of_several(&s.serving);
        Some(s)
    }
}

/// The commit sequence id that a good replica needs: that of the record or, if no replica has it,
/// the highest one. That replica is worth keeping, too.
pub(crate) fn enough_sequence(replicas: &Replicas, c: &Container) -> u64 {
    let closed = |r: &&Replica| matches!(r.state, ReplicaState::Closed | ReplicaState::QuasiClosed);
    let best = replicas.of(c.id).iter().filter(closed).map(|r| r.sequence_id).max();
    best.map_or(c.sequence_id, |best| best.min(c.sequence_id))
}

/// Returns `true` if the replica has all committed writes, and is not UNHEALTHY.
fn is_good(c: &Container, r: &Replica, enough: u64) -> bool {
    match r.state {
        ReplicaState::Closed => r.sequence_id >= enough,
        ReplicaState::QuasiClosed => {
            c.state == LifeCycleState::QuasiClosed || r.sequence_id >= enough
        }
        _ => false,
    }
}
