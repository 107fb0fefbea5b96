//! What a reported replica means for its container, and what the node has to do about it.

use std::collections::BTreeSet;

use proto::hdds::{LifeCycleEvent, LifeCycleState};
use types::{ContainerId, DatanodeId, ReplicationConfig};

use crate::cluster::Cluster;
use crate::settings::UnknownContainer;
use crate::state::change::Change;
use crate::state::container::Container;
use crate::state::decision::Decision;
use crate::state::node::Health;
use crate::state::order::OrderKind;
use crate::state::replica::{Replica, ReplicaState};
use crate::time::{Millis, elapsed};

impl Cluster {
    /// `node` has reported its replica of the container `id`, or that it has none any more.
    pub(crate) fn reconcile(&self, id: ContainerId, node: DatanodeId, now: Millis) -> Decision {
        let mut decision = Decision::default();
        let replica = self.replicas.on(id, node);
        let Some(container) = self.containers.get(id) else {
            // Without `force`, and none with blocks: with tables that are older than the replica it
            // looks the same as one that is nobody's.
            // A node refuses it of one that is not closed: the same order would follow for ever.
            let is_empty = |r: &&Replica| r.keys == 0 && r.state == ReplicaState::Closed;
            if let Some(replica) = replica.filter(is_empty).filter(|_| self.unknown_ones_go()) {
                let index = replica.replica_index;
                decision.order(node, OrderKind::DeleteContainer { id, index, force: false });
            }
            return decision;
        };
        let Some(replica) = replica else { return decision };
        let index = replica.replica_index;
        match container.state {
            LifeCycleState::Open => {
                // A replica that takes no writes, or a container that is full, means the same: no
                // more blocks.
                let full = container.used_bytes >= self.settings.full_at();
                if full || replica.state != ReplicaState::Open {
                    decision.merge(self.finalize_container(id, now));
                }
            }
            LifeCycleState::Closing => self.resolve_closing(container, replica, now, &mut decision),
            LifeCycleState::QuasiClosed => {
                self.resolve_quasi_closed(container, replica, now, &mut decision);
            }
            LifeCycleState::Closed => self.follow_closed(container, replica, &mut decision),
            LifeCycleState::Deleting | LifeCycleState::Deleted => {
                if matches!(replica.state, ReplicaState::Open | ReplicaState::Closing) {
                    // A late write has made it anew, of a block allocated before. Once it is closed
                    // it is known whether there is anything in it.
                    let pipeline = container.pipeline.unwrap_or_default();
                    decision.order(node, OrderKind::CloseContainer { id, pipeline, force: false });
                } else if replica.keys > 0 && !self.can_be_read(container) {
                    // What a node has that was away while the others were deleted. A late write is
                    // on more nodes than one, and they report it soon.
                } else if replica.keys > 0 && replica.state.is_final() {
                    // If it was ever written, the record is that of a closed container: a replica
                    // that has come as far lacks nothing. One that has not has only blocks that
                    // were deleted elsewhere if all others were seen empty; else it may be the
                    // last. Of one that is erasure coded there are others that make it readable.
                    let known = container.sequence_id > 0;
                    let behind = replica.sequence_id < container.sequence_id;
                    if behind && container.evidence.emptied && !container.config.is_ec() {
                        decision.order(node, OrderKind::DeleteContainer { id, index, force: true });
                    } else {
                        let differs = replica.sequence_id != container.sequence_id;
                        let quasi = replica.state != ReplicaState::Closed && (differs || !known);
                        decision.changes.push(Change::ReviveContainer { id, quasi, now });
                    }
                } else {
                    decision.order(node, OrderKind::DeleteContainer { id, index, force: false });
                }
            }
            LifeCycleState::Recovering => {}
        }
        decision
    }

    /// Whether an operator wants replicas of containers without a record gone. What is not known in
    /// safe mode may be known soon.
    fn unknown_ones_go(&self) -> bool {
        self.settings.unknown_container == UnknownContainer::Delete && !self.safe_mode.is_on()
    }

    /// Containers on their way: repeats the orders that the replicas have not followed.
    pub fn review_containers(&self, now: Millis) -> Decision {
        let mut decision = Decision::default();
        let due = |id: &ContainerId| {
            let entered = self.containers.get(*id).map_or(now, |c| c.state_enter_ms);
            elapsed(entered, now) >= self.settings.resend_after
        };
        for id in self.containers.in_state(LifeCycleState::Closing).filter(due) {
            decision.merge(self.order_close(id));
            for replica in self.replicas.of(id) {
                decision.merge(self.reconcile(id, replica.node, now));
            }
        }
        for id in self.containers.in_state(LifeCycleState::QuasiClosed) {
            for replica in self.replicas.of(id) {
                decision.merge(self.reconcile(id, replica.node, now));
            }
        }
        decision.orders.sort_by_key(|o| o.node);
        decision.orders.dedup();
        decision.changes.dedup();
        decision
    }

    fn resolve_closing(&self, c: &Container, r: &Replica, now: Millis, decision: &mut Decision) {
        let event = match r.state {
            // A data replica but the first may be of nothing but padding: what closes first among
            // the others has a part of each block.
            ReplicaState::Closed if !has_a_part_of_all(&c.config, r.replica_index) => return,
            ReplicaState::Closed => LifeCycleEvent::Close,
            // One that is erasure coded has no group that it could have closed without.
            ReplicaState::QuasiClosed if c.config.is_ec() => return,
            ReplicaState::QuasiClosed => LifeCycleEvent::QuasiClose,
            _ => return,
        };
        decision.changes.push(Change::MoveContainer { id: c.id, event, now, usage: c.usage() });
    }

    fn resolve_quasi_closed(
        &self,
        c: &Container,
        r: &Replica,
        now: Millis,
        decision: &mut Decision,
    ) {
        let id = c.id;
        let pipeline = c.pipeline.unwrap_or_default();
        match r.state {
            ReplicaState::Closed => {
                let event = LifeCycleEvent::ForceClose;
                decision.changes.push(Change::MoveContainer { id, event, now, usage: c.usage() });
            }
            ReplicaState::Open | ReplicaState::Closing => {
                decision.order(r.node, OrderKind::CloseContainer { id, pipeline, force: false });
            }
            ReplicaState::QuasiClosed if self.last_write_is_known(c, now) => {
                let newest =
                    self.replicas.of(id).iter().filter(|r| quasi(r)).map(|r| r.sequence_id).max();
                for r in self.replicas.of(id).iter().filter(|r| quasi(r)) {
                    if Some(r.sequence_id) == newest {
                        decision
                            .order(r.node, OrderKind::CloseContainer { id, pipeline, force: true });
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether enough quasi-closed replicas were seen for one of them to have the last acknowledged
    /// write: those of all origins; or of a majority, without which nothing was acknowledged, when
    /// the nodes of the missing ones are dead, or had time to come: a member that never wrote to
    /// the container has no replica to wait for.
    pub(crate) fn last_write_is_known(&self, c: &Container, now: Millis) -> bool {
        let mut origins: Vec<_> =
            self.replicas.of(c.id).iter().filter(|r| quasi(r)).map(|r| r.origin).collect();
        origins.sort_unstable();
        origins.dedup();
        let required = c.config.required_nodes() as usize;
        if origins.len() >= required {
            return true;
        }
        let alive = self.nodes.iter().filter(|n| n.health != Health::Dead).count();
        let others_are_lost = alive < required
            || self.replicas.of(c.id).iter().all(quasi)
                && self.lost_members(c).saturating_add(origins.len()) >= required;
        let waited = elapsed(c.state_enter_ms, now) >= self.settings.dead_after;
        (others_are_lost || waited) && origins.len() > required / 2
    }

    /// Members of the container's pipeline that are dead.
    fn lost_members(&self, c: &Container) -> usize {
        let Some(entry) = c.pipeline.and_then(|p| self.pipelines.get(p)) else { return 0 };
        let dead = |id| self.nodes.get(id).is_some_and(|n| n.health == Health::Dead);
        entry.record.members.iter().filter(|m| dead(m.id)).count()
    }

    /// Whether there are blocks in as many replicas as it takes to read any.
    fn can_be_read(&self, c: &Container) -> bool {
        let ReplicationConfig::Ec(ec) = c.config else { return true };
        let with_blocks = self.replicas.of(c.id).iter().filter(|r| r.keys > 0);
        let indexes = with_blocks.map(|r| r.replica_index);
        let indexes: BTreeSet<u32> =
            indexes.filter(|i| (1..=c.config.required_nodes()).contains(i)).collect();
        indexes.len() >= ec.data as usize
    }

    /// A replica of a CLOSED container: it shall be CLOSED too, if it has all writes.
    pub(super) fn follow_closed(&self, c: &Container, r: &Replica, decision: &mut Decision) {
        let id = c.id;
        let pipeline = c.pipeline.unwrap_or_default();
        match r.state {
            ReplicaState::Open | ReplicaState::Closing => {
                decision.order(r.node, OrderKind::CloseContainer { id, pipeline, force: false });
            }
            ReplicaState::QuasiClosed if r.sequence_id >= c.sequence_id => {
                decision.order(r.node, OrderKind::CloseContainer { id, pipeline, force: true });
            }
            // One that lacks writes goes when enough do not (`repair`, `in_the_way`).
            _ => {}
        }
    }
}

/// Whether a replica has bytes of each block of its container: each one that is not erasure coded,
/// and of those that are the first and those of parity.
fn has_a_part_of_all(config: &ReplicationConfig, index: u32) -> bool {
    match config {
        ReplicationConfig::Ec(ec) => {
            index == 1 || (index > ec.data && index <= config.required_nodes())
        }
        _ => true,
    }
}

fn quasi(r: &Replica) -> bool {
    r.state == ReplicaState::QuasiClosed
}
