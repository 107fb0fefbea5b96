//! A replica that lacks writes, on the only node that could get a good one.
//!
//! If no other node can take a copy, as in a cluster of three, a CLOSED container would lack a
//! replica while such a one exists: it is deleted, and a copy replaces it.
//!
//! **Invariant:** it is deleted only if it lacks writes that at least two others have. Each of
//! those is CLOSED and has all writes of the record, on a node in service that is HEALTHY, has sent
//! a heartbeat within the time after which it would be STALE, and has reported its replicas to this
//! leader ([`ReplicaCount::heard`]). No other order for the container is pending meanwhile, so the
//! next one is deleted only after the copy has arrived.

use proto::hdds::LifeCycleState;
use types::{DatanodeId, OperationalState};

use super::Replication;
use super::count::ReplicaCount;
use super::order::Repair;
use super::refuses::Refuses;
use crate::state::container::Container;
use crate::state::node::{Health, Node};
use crate::state::replica::ReplicaState;
use crate::time::{Millis, elapsed};

/// Good replicas that must exist in addition.
const LEAST: usize = 2;

impl Replication<'_> {
    /// The replica to delete; `None` while a copy to another node is possible, or none could be
    /// sent to its node.
    pub(super) fn delete_in_the_way(
        &self,
        c: &Container,
        s: &ReplicaCount,
        (now, until): (Millis, Millis),
    ) -> Option<Repair> {
        if !self.is_confined(c, s) {
            return None;
        }
        let has_all = |id: &&DatanodeId| {
            let replica = self.replicas.on(c.id, **id);
            replica
                .is_some_and(|r| r.state == ReplicaState::Closed && r.sequence_id >= c.sequence_id)
        };
        if s.heard.iter().filter(has_all).count() < LEAST || self.choose_source(c, s).is_none() {
            return None;
        }
        let victims = s.bad.iter().filter_map(|id| {
            let sequence = self.replicas.on(c.id, *id).filter(|r| r.state.is_final())?.sequence_id;
            let node = self
                .nodes
                .get(*id)
                .filter(|node| node.is_heard(Some(now), self.settings.stale_after))?;
            let goes = sequence < c.sequence_id && self.may_delete(*id);
            (goes && self.would_get_a_copy(c, node, now)).then_some((sequence, *id))
        });
        // Among equals the first, in an order that is the same on every SCM.
        let (_, victim) = victims.min_by_key(|(sequence, _)| *sequence)?;
        Some(Repair::delete(c.id, (victim, 0), until))
    }

    /// Returns `true` if the container is CLOSED, no task of it is under way, and no other node can
    /// take a copy.
    pub(super) fn is_confined(&self, c: &Container, s: &ReplicaCount) -> bool {
        // Which of the writes count is not known of one that is QUASI_CLOSED.
        c.state == LifeCycleState::Closed
            && self.pending.of(c.id).is_empty()
            && s.closing.is_empty()
            && !self.is_copying_enough()
            && !self.nodes.iter().any(|node| self.may_take_a_copy(c, node))
    }

    /// Returns `true` if a node without a replica can take one, now, after its next heartbeat, or
    /// once it is less busy.
    fn may_take_a_copy(&self, c: &Container, node: &Node) -> bool {
        match self.refuses(c, node) {
            None | Some(Refuses::Busy | Refuses::ItsPipeline) => true,
            Some(Refuses::NotInService) => {
                node.health == Health::Stale && node.details.op_state == OperationalState::InService
            }
            Some(Refuses::HasIt | Refuses::NoRoom) => false,
        }
    }

    /// Returns `true` if a node could get a copy immediately if it had no replica.
    fn would_get_a_copy(&self, c: &Container, node: &Node, now: Millis) -> bool {
        match self.refuses_without(c, node) {
            None => true,
            // As of a member that never had one (`choose_target`).
            Some(Refuses::ItsPipeline) => {
                elapsed(c.state_enter_ms, now) >= self.settings.dead_after
            }
            Some(_) => false,
        }
    }
}
