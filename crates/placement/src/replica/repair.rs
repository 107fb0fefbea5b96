//! Making the replicas of settled containers what they should be.
//!
//! One replica at a time is copied or deleted per container and look; what is under way counts as
//! done ([`pending`](super::pending)). In this order:
//! 1. **under-replicated**: a node that has a good replica sends it to one that has none;
//! 2. **misplaced**: the same, to another rack; then one is too many;
//! 3. **bad replicas** go when there are enough good ones;
//! 4. **over-replicated**: one goes that the racks do not need.
//!
//! **Invariant:** a replica is ordered away only when `required` other good ones are there, each on
//! a node in service that is HEALTHY, has been heard of within the time after which it would be
//! STALE, and has told this leader what it has ([`ReplicaCount::heard`]); none of them is ordered
//! away too.
//!
//! Orders of two leaders do not add up: a node tells a leader what it has only after it has heard
//! of its term, and from then on carries out nothing that an earlier leader ordered
//! (`Node::confirmed`). Among the same replicas the choice follows from the ids alone, whichever
//! SCM makes it and in whatever order they were reported.

use types::{ContainerId, DatanodeId, OperationalState};

use super::count::{ReplicaCount, mixed};
use super::pending::{Pending, Task};
use crate::settings::whole;
use crate::{Cluster, Container, Decision, Health, Millis, Node, OrderKind, elapsed};

/// What a look at some containers has found to do.
#[derive(Debug, Default)]
pub struct Repairs {
    /// What to order.
    pub decision: Decision,
    /// Where the next look goes on; `None` when all containers were looked at.
    pub next: Option<ContainerId>,
}

impl Cluster {
    /// Looks at up to `count` containers from `start` on, and orders copies and deletions as far as
    /// the limits on work under way allow.
    pub fn repair_containers(&mut self, start: ContainerId, count: usize, now: Millis) -> Repairs {
        let mut repairs = Repairs::default();
        if start == ContainerId(0) {
            self.pending.expire(now);
        }
        let mut ids: Vec<_> =
            self.containers.from(start).take(count.saturating_add(1)).map(|c| c.id).collect();
        if ids.len() > count {
            repairs.next = ids.pop();
        }
        let until = now.saturating_add(self.settings.replication.timeout);
        for id in ids {
            // Just closed: the reports of the other replicas are on their way.
            let since = self.containers.get(id).map_or(now, |c| c.state_enter_ms);
            if elapsed(since, now) < self.settings.resend_after {
                continue;
            }
            let Some((pending, order)) = self.repair(id, now, until) else { continue };
            self.pending.add(id, pending);
            repairs.decision.orders.push(order);
        }
        repairs
    }

    /// The next thing to do for a container.
    fn repair(
        &self,
        id: ContainerId,
        now: Millis,
        until: Millis,
    ) -> Option<(Pending, crate::Order)> {
        let container = self.containers.get(id)?;
        if container.config.is_ec() {
            return self.repair_ec(container, now, until);
        }
        let count = self.replica_count_at(container, Some(now))?;
        if count.is_fine() {
            return None;
        }
        if count.missing(true) > 0 {
            return self.order_copy(container, &count, false, until);
        }
        if count.missing(false) > 0 {
            return None;
        }
        if count.misplaced && count.coming.is_empty() && count.excess() == 0 {
            return self.order_copy(container, &count, true, until);
        }
        if !count.closing.is_empty() || !count.coming.is_empty() {
            return None;
        }
        if count.heard.len() < count.required {
            return None;
        }
        let victim = self.bad_victim(container, &count).or_else(|| {
            (count.spare() > 0).then(|| self.extra_victim(container, &count)).flatten()
        })?;
        let pending = Pending { node: victim, task: Task::Delete, until };
        let kind = OrderKind::DeleteContainer { id, force: true };
        Some((pending, crate::Order { node: victim, kind }))
    }

    fn order_copy(
        &self,
        c: &Container,
        s: &ReplicaCount,
        elsewhere: bool,
        until: Millis,
    ) -> Option<(Pending, crate::Order)> {
        if self.pending.copies() >= self.most_copies() {
            return None;
        }
        let target = self.choose_target(c, s, elsewhere)?;
        let source = self.choose_source(c, s)?;
        let pending = Pending { node: target, task: Task::Copy { source }, until };
        let kind = OrderKind::ReplicateContainer { id: c.id, target };
        Some((pending, crate::Order { node: source, kind }))
    }

    /// Copies that may be under way in the whole cluster.
    fn most_copies(&self) -> usize {
        let r = &self.settings.replication;
        if r.in_flight_share <= 0.0 {
            return usize::MAX;
        }
        let healthy = self.nodes.count(Health::Healthy) as f64;
        whole(healthy * f64::from(r.copies_per_node) * r.in_flight_share).max(1)
    }

    /// The node to send a copy: that of the most complete good replicas which has the least to
    /// send.
    fn choose_source(&self, c: &Container, s: &ReplicaCount) -> Option<DatanodeId> {
        let sequence = |id: &DatanodeId| self.replicas.on(c.id, *id).map_or(0, |r| r.sequence_id);
        let all = || s.serving.iter().chain(&s.leaving).chain(&s.maintenance);
        let newest = all().map(sequence).max()?;
        all()
            .filter(|id| sequence(id) == newest)
            .filter(|id| self.may_send(**id))
            .min_by_key(|id| (self.pending.sending(**id), mixed(c.id, **id)))
            .copied()
    }

    /// Whether a node can send one more copy.
    pub(super) fn may_send(&self, id: DatanodeId) -> bool {
        let Some(node) = self.nodes.get(id) else { return false };
        let r = &self.settings.replication;
        let limit = match node.details.op_state {
            OperationalState::InService => r.copies_per_node,
            _ => {
                let more = whole(f64::from(r.copies_per_node) * r.out_of_service_factor);
                u32::try_from(more).unwrap_or(u32::MAX)
            }
        };
        node.health == Health::Healthy && self.pending.sending(id) < limit.max(1)
    }

    /// The node to get a copy: with room, without a replica, in a rack where it does the most good.
    pub(super) fn choose_target(
        &self,
        c: &Container,
        s: &ReplicaCount,
        elsewhere: bool,
    ) -> Option<DatanodeId> {
        let placed: Vec<DatanodeId> =
            s.serving.iter().chain(&s.closing).chain(&s.coming).copied().collect();
        let racks = self.racks_of(&placed);
        let r = &self.settings.replication;
        let has = |id| self.replicas.on(c.id, id).is_some();
        let fits = |n: &&Node| {
            n.takes_writes()
                && !has(n.details.id)
                && !self.pending.of(c.id).iter().any(|p| p.node == n.details.id)
                && self.pending.receiving(n.details.id) < r.copies_per_node.max(1)
                && n.has_room_for(c.used_bytes)
        };
        let rank = |n: &&Node| {
            let rack = n.details.network_location.as_str();
            let same = placed.iter().filter(|p| {
                self.nodes.get(**p).is_some_and(|n| n.details.network_location == rack)
            });
            // A second rack first; then the rack that has one, not two; a third rack last.
            let spread = match (r.rack_aware, racks.len(), same.count()) {
                (false, _, _) => 0,
                (true, 0, _) => 0,
                (true, 1, 0) => 0,
                (true, 1, _) => 3,
                (true, _, 1) => 0,
                (true, _, 0) => 1,
                (true, _, _) => 2,
            };
            let id = n.details.id;
            (spread, self.pending.receiving(id), n.used_percent(), mixed(c.id, id))
        };
        let best = self.nodes.iter().filter(fits).min_by_key(rank)?;
        // A copy for the sake of racks in the same rack would go on for ever.
        let rack = best.details.network_location.as_str();
        (!elsewhere || !racks.contains(rack)).then_some(best.details.id)
    }

    /// A replica that lacks something, or is not trusted, on a node that can be told. A damaged one
    /// that has come farther than all good ones stays: blocks may be whole in it that are nowhere
    /// else.
    fn bad_victim(&self, c: &Container, s: &ReplicaCount) -> Option<DatanodeId> {
        let enough = self.enough_sequence(c);
        s.bad.iter().copied().find(|id| {
            // One that is still being closed may become good.
            let ends = self
                .replicas
                .on(c.id, *id)
                .is_some_and(|r| r.state.is_final() && r.sequence_id <= enough);
            let lone = self.only_of_its_origin(c, *id);
            ends && !lone && self.may_delete(*id) && !self.is_going(c.id, *id)
        })
    }

    /// The replica that is one too many: not the only one of its rack, if that matters. One whose
    /// node has enough to delete is waited for: another one in its place would be a choice that
    /// another leader does not make.
    fn extra_victim(&self, c: &Container, s: &ReplicaCount) -> Option<DatanodeId> {
        let keeps_racks = |id: &DatanodeId| {
            let rest: Vec<_> = s.heard.iter().copied().filter(|n| n != id).collect();
            !self.in_one_rack_of_several(&rest) || self.in_one_rack_of_several(&s.heard)
        };
        let mut candidates = s.heard.iter().filter(|id| !self.only_of_its_origin(c, **id));
        candidates.find(|id| keeps_racks(id)).copied().filter(|id| self.may_delete(*id))
    }

    fn is_going(&self, id: ContainerId, node: DatanodeId) -> bool {
        self.pending.of(id).iter().any(|p| p.node == node && p.task == Task::Delete)
    }

    fn may_delete(&self, node: DatanodeId) -> bool {
        self.nodes.is_healthy(node)
            && self.pending.deleting(node) < self.settings.replication.deletes_per_node.max(1)
    }

    /// As long as a container is QUASI_CLOSED it is unknown which origin has the last write.
    fn only_of_its_origin(&self, c: &Container, node: DatanodeId) -> bool {
        let Some(replica) = self.replicas.on(c.id, node) else { return false };
        c.state == proto::hdds::LifeCycleState::QuasiClosed
            && !self.replicas.of(c.id).iter().any(|r| r.node != node && r.origin == replica.origin)
    }
}
