//! Effects of a reported replica on its container, and orders for its node.

use std::collections::BTreeSet;

use proto::hdds::{LifeCycleEvent, LifeCycleState};
use types::{ContainerId, DatanodeId, ReplicationConfig};

use crate::container::close::{finalize, order_close};
use crate::container::last_write::is_quasi_closed;
use crate::container::{Holders, Reported};
use crate::settings::UnknownContainer;
use crate::state::change::Change;
use crate::state::container::{Container, Containers};
use crate::state::decision::Decision;
use crate::state::order::OrderKind;
use crate::state::replica::{Replica, ReplicaState, Replicas};
use crate::time::{Millis, elapsed};

/// State that a rule for a reported replica reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reconciling<'a> {
    pub reported: Reported<'a>,
    pub containers: &'a Containers,
    pub in_safe_mode: bool,
}

impl<'a> Reconciling<'a> {
    fn holders(&self) -> Holders<'a> {
        let Reported { pipelines, replicas, .. } = self.reported;
        Holders { containers: self.containers, pipelines, replicas }
    }

    /// `node` has reported its replica of the container `id`, or that it has none any more.
    pub fn reconcile(&self, id: ContainerId, node: DatanodeId, now: Millis) -> Decision {
        let mut decision = Decision::default();
        let replica = self.reported.replicas.on(id, node);
        let Some(container) = self.containers.get(id) else {
            // Without `force`, and no replica with blocks: to tables that are older than the
            // replica it looks like one without a container. A node refuses to delete one that is
            // not closed: the same order would be repeated for ever.
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
                let full = container.used_bytes >= self.reported.settings.full_at();
                if full || replica.state != ReplicaState::Open {
                    decision.merge(finalize(self.containers, id, now));
                }
            }
            LifeCycleState::Closing => resolve_closing(container, replica, now, &mut decision),
            LifeCycleState::QuasiClosed => {
                self.resolve_quasi_closed(container, replica, now, &mut decision);
            }
            LifeCycleState::Closed => follow_closed(container, replica, &mut decision),
            LifeCycleState::Deleting | LifeCycleState::Deleted => {
                if matches!(replica.state, ReplicaState::Open | ReplicaState::Closing) {
                    // A late write has recreated it, to a block allocated before. Its contents are
                    // known after it is closed.
                    let pipeline = container.pipeline.unwrap_or_default();
                    decision.order(node, OrderKind::CloseContainer { id, pipeline, force: false });
                } else if replica.keys > 0 && !can_be_read(self.reported.replicas, container) {
                    // A replica of a node that was down while the others were deleted. A late write
                    // is on more than one node, and they report it soon.
                } else if replica.keys > 0 && replica.state.is_final() {
                    // If it was ever written, the record is that of a closed container: a replica
                    // with the record's sequence lacks nothing. One with a lower sequence has only
                    // blocks that were deleted elsewhere if all others were reported as empty; else
                    // it may be the last. An erasure coded one needs others to be readable.
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

    /// Returns `true` if an operator configured the deletion of replicas without a record. In safe
    /// mode the record may still arrive.
    fn unknown_ones_go(&self) -> bool {
        self.reported.settings.unknown_container == UnknownContainer::Delete && !self.in_safe_mode
    }

    /// Containers in transition: repeats the orders that the replicas have not followed.
    pub fn review(&self, now: Millis) -> Decision {
        let mut decision = Decision::default();
        let due = |id: &ContainerId| {
            let entered = self.containers.get(*id).map_or(now, |c| c.state_enter_ms);
            elapsed(entered, now) >= self.reported.settings.resend_after
        };
        for id in self.containers.in_state(LifeCycleState::Closing).filter(due) {
            decision.merge(order_close(self.holders(), id));
            for replica in self.reported.replicas.of(id) {
                decision.merge(self.reconcile(id, replica.node, now));
            }
        }
        for id in self.containers.in_state(LifeCycleState::QuasiClosed) {
            for replica in self.reported.replicas.of(id) {
                decision.merge(self.reconcile(id, replica.node, now));
            }
        }
        decision.orders.sort_by_key(|o| o.node);
        decision.orders.dedup();
        decision.changes.dedup();
        decision
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
            ReplicaState::QuasiClosed if self.reported.last_write_is_known(c, now) => {
                let newest = self
                    .reported
                    .replicas
                    .of(id)
                    .iter()
                    .filter(|r| is_quasi_closed(r))
                    .map(|r| r.sequence_id)
                    .max();
                for r in self.reported.replicas.of(id).iter().filter(|r| is_quasi_closed(r)) {
                    if Some(r.sequence_id) == newest {
                        decision
                            .order(r.node, OrderKind::CloseContainer { id, pipeline, force: true });
                    }
                }
            }
            _ => {}
        }
    }
}

fn resolve_closing(c: &Container, r: &Replica, now: Millis, decision: &mut Decision) {
    let event = match r.state {
        // Any data replica but the first may consist of padding: the first of the others that
        // closes has a part of each block.
        ReplicaState::Closed if !has_a_part_of_all(&c.config, r.replica_index) => return,
        ReplicaState::Closed => LifeCycleEvent::Close,
        // One that is erasure coded has no group that it could have closed without.
        ReplicaState::QuasiClosed if c.config.is_ec() => return,
        ReplicaState::QuasiClosed => LifeCycleEvent::QuasiClose,
        _ => return,
    };
    decision.changes.push(Change::MoveContainer { id: c.id, event, now, usage: c.usage() });
}

/// Returns `true` if enough replicas have blocks to read any.
fn can_be_read(replicas: &Replicas, c: &Container) -> bool {
    let ReplicationConfig::Ec(ec) = c.config else { return true };
    let with_blocks = replicas.of(c.id).iter().filter(|r| r.keys > 0);
    let indexes = with_blocks.map(|r| r.replica_index);
    let indexes: BTreeSet<u32> =
        indexes.filter(|i| (1..=c.config.required_nodes()).contains(i)).collect();
    indexes.len() >= ec.data as usize
}

/// A replica of a CLOSED container: it shall be CLOSED too, if it has all writes.
pub(super) fn follow_closed(c: &Container, r: &Replica, decision: &mut Decision) {
    let id = c.id;
    let pipeline = c.pipeline.unwrap_or_default();
    match r.state {
        ReplicaState::Open | ReplicaState::Closing => {
            decision.order(r.node, OrderKind::CloseContainer { id, pipeline, force: false });
        }
        ReplicaState::QuasiClosed if r.sequence_id >= c.sequence_id => {
            decision.order(r.node, OrderKind::CloseContainer { id, pipeline, force: true });
        }
        // One that lacks writes is deleted after enough complete ones exist (`repair`,
        // `in_the_way`).
        _ => {}
    }
}

/// Returns `true` if a replica has bytes of each block of its container: each one that is not
/// erasure coded, and of those that are, the first and those of parity.
fn has_a_part_of_all(config: &ReplicationConfig, index: u32) -> bool {
    match config {
        ReplicationConfig::Ec(ec) => {
            index == 1 || (index > ec.data && index <= config.required_nodes())
        }
        _ => true,
    }
}
