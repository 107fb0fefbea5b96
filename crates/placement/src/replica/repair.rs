//! Making the replicas of closed containers what they should be.
//!
//! One replica at a time is copied or deleted per container and look; what is under way counts as
//! done ([`pending`](super::pending)). The containers that are closest to being lost go first
//! ([`urgency`](super::urgency)). Of those that are erasure coded each replica is one of its own
//! (`ec_repair.rs`). For full copies, in this order:
//! 1. **under-replicated**: a node that has a good replica sends it to one that has none; one that
//!    lacks writes makes room for it when no other node can take it (`in_the_way.rs`);
//! 2. **misplaced**: the same, to another rack; then one is too many;
//! 3. **bad replicas** go when there are enough good ones;
//! 4. **over-replicated**: one goes that the racks do not need;
//! 5. **on a disk of another storage type**: it is moved (`storage_type.rs`).
//!
//! **Invariant:** a replica is ordered away only when `required` other good ones are there (two of
//! three for one that is in the way), each on a node in service that is HEALTHY, has been heard of
//! within the time after which it would be STALE, and has told this leader what it has
//! ([`ReplicaCount::heard`]); none of them is ordered away too.
//!
//! Orders of two leaders do not add up: a node tells a leader what it has only after it has heard
//! of its term, and from then on carries out nothing that an earlier leader ordered
//! (`Node::confirmed`). Among the same replicas the choice follows from the ids alone, whichever
//! SCM makes it and in whatever order they were reported.

use proto::hdds::LifeCycleState;
use smallvec::{SmallVec, smallvec};
use types::{ContainerId, DatanodeId, OperationalState};

use super::count::{ReplicaCount, mixed};
use super::pair::Pair;
use super::urgency::{Left, Urgency};
use crate::cluster::Cluster;
use crate::node::Refuses;
use crate::settings::whole;
use crate::state::container::Container;
use crate::state::decision::Decision;
use crate::state::history::Event;
use crate::state::node::{Health, Node};
use crate::state::order::{Order, OrderKind};
use crate::state::pending::{Pending, Task};
use crate::time::{Millis, elapsed};

/// What a look at some containers has found to do.
#[derive(Debug, Default)]
pub struct Repairs {
    /// What to order.
    pub decision: Decision,
    /// Where the next look goes on; `None` when all containers were looked at.
    pub next: Option<ContainerId>,
}

/// An order, and what is under way by it.
pub(super) struct Repair {
    pub(super) tasks: SmallVec<[Pending; 2]>,
    pub(super) order: Order,
    /// What asks for it, if that is not the container's health.
    pub(super) why: Option<&'static str>,
}

impl Repair {
    /// A node gets a copy of the replica of another one, which has that index.
    pub(super) fn copy(
        id: ContainerId,
        (source, index): (DatanodeId, u32),
        target: DatanodeId,
        until: Millis,
    ) -> Self {
        let task = Task::Copy { source, index };
        let kind = OrderKind::ReplicateContainer { id, target };
        Self {
            tasks: smallvec![Pending { node: target, task, until }],
            order: Order { node: source, kind },
            why: None,
        }
    }

    /// A node deletes its replica, which has that index.
    pub(super) fn delete(id: ContainerId, (node, index): (DatanodeId, u32), until: Millis) -> Self {
        let kind = OrderKind::DeleteContainer { id, index, force: true };
        let task = Task::Delete;
        let tasks = smallvec![Pending { node, task, until }];
        Self { tasks, order: Order { node, kind }, why: None }
    }

    fn deletes_from(&self, node: DatanodeId) -> bool {
        self.order.node == node && matches!(self.order.kind, OrderKind::DeleteContainer { .. })
    }
}

impl Cluster {
    /// Looks at up to `count` containers from `start` on, and orders copies and deletions as far as
    /// the limits on work under way allow.
    pub fn repair_containers(&mut self, start: ContainerId, count: usize, now: Millis) -> Repairs {
        let mut repairs = Repairs::default();
        let timeout = self.settings.replication.timeout;
        let until = now.saturating_add(timeout);
        if start == ContainerId(0) {
            let replicas = &self.replicas;
            let has = |id, node| replicas.on(id, node).is_some();
            for (id, late) in self.pending.expire(now, timeout, has) {
                self.histories.note(id, now, Event::Late { node: late.node });
            }
            let containers = &self.containers;
            self.backoffs.retain(|id| containers.get(id).is_some());
            self.urgency.begin_round(now, &self.settings.replication);
            self.begin_storage_type_round(now);
            self.repeat_deletions(now, until, &mut repairs.decision);
        }
        let mut ids: Vec<_> =
            self.containers.from(start).take(count.saturating_add(1)).map(|c| c.id).collect();
        if ids.len() > count {
            repairs.next = ids.pop();
        }
        let mut due: Vec<(Left, ContainerId)> =
            ids.into_iter().filter_map(|id| Some((self.left_of(id, now)?, id))).collect();
        due.sort_unstable();
        for (left, id) in due {
            if !self.urgency.admits(left) {
                continue;
            }
            let Some(repair) = self.repair(id, now, until) else {
                if left != Urgency::CAN_WAIT && self.is_copying_enough() {
                    self.urgency.hold_back(left);
                }
                continue;
            };
            let makes = repair.tasks.iter().any(|pending| pending.task.comes().is_some());
            if makes && self.backoffs.holds(id, now) {
                continue;
            }
            if !self.urgency.is_due(left, &repair.order.kind) {
                continue;
            }
            let health = self.containers.get(id).map(|c| self.health(c));
            self.note_order(id, &repair.order, repair.why.or(health), now);
            if repair.why.is_some() {
                self.storage_types.note(id, repair.order.node, until);
            }
            repair.tasks.into_iter().for_each(|task| self.pending.add(id, task));
            repairs.decision.orders.push(repair.order);
        }
        if repairs.next.is_none() && self.urgency.wants_another_round() {
            self.pending.note_change();
        }
        repairs
    }

    /// Replicas of CLOSED containers that are not CLOSED and could be are told to close once more:
    /// the order that answered their last report may be lost, or there was none, because the
    /// container was not CLOSED by then. Looks at up to `count` containers from `start` on.
    pub fn repeat_closes(&self, start: ContainerId, count: usize, now: Millis) -> Decision {
        let mut decision = Decision::default();
        for container in self.containers.from(start).take(count) {
            self.repeat_close(container.id, now, &mut decision);
        }
        decision
    }

    fn repeat_close(&self, id: ContainerId, now: Millis, decision: &mut Decision) {
        let closed = |c: &&Container| {
            c.state == LifeCycleState::Closed
                && elapsed(c.state_enter_ms, now) >= self.settings.resend_after
        };
        let Some(container) = self.containers.get(id).filter(closed) else { return };
        for replica in self.replicas.of(id) {
            if self.nodes.is_healthy(replica.node) {
                self.follow_closed(container, replica, decision);
            }
        }
    }

    /// Orders the deletions once more that their nodes may have forgotten, as far as the same
    /// replica would be chosen now. Another one may have been lost since: then this one stays, if
    /// its node did forget, and is counted as going until its node reports it behind its time.
    fn repeat_deletions(&mut self, now: Millis, until: Millis, decision: &mut Decision) {
        for (id, node) in self.pending.take_doubtful() {
            let Some(before) = self.pending.take_deletion(id, node) else { continue };
            match self.repair(id, now, until) {
                Some(repair) if repair.deletes_from(node) => {
                    repair.tasks.into_iter().for_each(|task| self.pending.add(id, task));
                    decision.orders.push(repair.order);
                }
                _ => self.pending.add(id, before),
            }
        }
    }

    /// How many replicas a container can lose until it cannot be read; `None` when there is nothing
    /// to do for it.
    fn left_of(&self, id: ContainerId, now: Millis) -> Option<Left> {
        let container = self.containers.get(id)?;
        // Just closed: the reports of the other replicas are on their way.
        if elapsed(container.state_enter_ms, now) < self.settings.resend_after {
            return None;
        }
        if container.config.is_ec() {
            return self.left_of_ec(container, now);
        }
        let count = self.replica_count_at(container, Some(now))?;
        if count.is_fine() {
            let is_wrong = self.on_wrong_disks(container, count.heard.iter()).next().is_some();
            return is_wrong.then_some(Urgency::CAN_WAIT);
        }
        if count.missing(true) == 0 {
            return Some(Urgency::CAN_WAIT);
        }
        let copies = [&count.serving, &count.leaving, &count.maintenance].map(Vec::len);
        let copies = copies.into_iter().fold(0, usize::saturating_add);
        Some(Left::try_from(copies.saturating_sub(1)).unwrap_or(Left::MAX))
    }

    /// The next thing to do for a container.
    fn repair(&self, id: ContainerId, now: Millis, until: Millis) -> Option<Repair> {
        let container = self.containers.get(id)?;
        if container.config.is_ec() {
            return self.repair_ec(container, now, until);
        }
        let count = self.replica_count_at(container, Some(now))?;
        if count.is_fine() {
            return self.bring_to_type(container, count.heard.iter(), until);
        }
        if count.missing(true) > 0 {
            let copy = self.order_copy(container, &count, false, (now, until));
            return copy.or_else(|| self.delete_in_the_way(container, &count, (now, until)));
        }
        if count.missing(false) > 0 {
            return None;
        }
        if count.misplaced && count.coming.is_empty() && count.excess() == 0 {
            return self.order_copy(container, &count, true, (now, until));
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
        Some(Repair::delete(id, (victim, 0), until))
    }

    fn order_copy(
        &self,
        c: &Container,
        s: &ReplicaCount,
        elsewhere: bool,
        (now, until): (Millis, Millis),
    ) -> Option<Repair> {
        if self.is_copying_enough() {
            return None;
        }
        if !elsewhere {
            match self.pair_of(c, s) {
                Pair::Copy(source, target) => {
                    return Some(Repair::copy(c.id, (source, 0), target, until));
                }
                Pair::Wait => return None,
                Pair::None => {}
            }
        }
        let target = self.choose_target(c, s, elsewhere, now)?;
        let source = self.choose_source(c, s)?;
        Some(Repair::copy(c.id, (source, 0), target, until))
    }

    /// Whether as many copies are under way as may be in the whole cluster.
    pub(crate) fn is_copying_enough(&self) -> bool {
        let r = &self.settings.replication;
        if r.in_flight_share <= 0.0 {
            return false;
        }
        let healthy = self.nodes.count(Health::Healthy) as f64;
        let most = whole(healthy * f64::from(r.copies_per_node) * r.in_flight_share).max(1);
        self.pending.copies() >= most
    }

    /// The node to send a copy: that of the most complete good replicas which has the least to
    /// send.
    pub(super) fn choose_source(&self, c: &Container, s: &ReplicaCount) -> Option<DatanodeId> {
        let sequence = |id: &DatanodeId| self.replicas.on(c.id, *id).map_or(0, |r| r.sequence_id);
        let all = || s.serving.iter().chain(&s.leaving).chain(&s.maintenance);
        let newest = all().map(sequence).max()?;
        all()
            .filter(|id| sequence(id) == newest)
            .filter(|id| self.may_send(**id))
            .min_by_key(|id| {
                let failed = self.pending.failed_lately(c.id, **id);
                (failed, self.pending.sending(**id), mixed(c.id, **id))
            })
            .copied()
    }

    /// Whether a node can send one more copy.
    pub(crate) fn may_send(&self, id: DatanodeId) -> bool {
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
    /// A member of the container's own living pipeline may still make its replica by the log: it
    /// gets a copy only when no other node can take one, and it had the time that makes a node
    /// dead.
    fn choose_target(
        &self,
        c: &Container,
        s: &ReplicaCount,
        elsewhere: bool,
        now: Millis,
    ) -> Option<DatanodeId> {
        let placed: Vec<DatanodeId> =
            s.serving.iter().chain(&s.closing).chain(&s.coming).copied().collect();
        let racks = self.racks_of(&placed);
        let r = &self.settings.replication;
        let refused_for = |why| move |n: &&Node| self.refuses(c, n) == why;
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
            let detour = n.detour(c.storage_type, c.used_bytes);
            let failed = i32::from(self.pending.failed_lately(c.id, id));
            // A copy for the sake of racks is none in the wrong one.
            let first = if elsewhere { (spread, failed) } else { (failed, spread) };
            (first, detour, self.pending.receiving(id), n.used_percent(), mixed(c.id, id))
        };
        let best_of = |why| self.nodes.iter().filter(refused_for(why)).min_by_key(rank);
        let had_time = elapsed(c.state_enter_ms, now) >= self.settings.dead_after;
        let by_log = || {
            let others_wait = self.nodes.iter().any(|n| refused_for(Some(Refuses::Busy))(&n));
            best_of(Some(Refuses::ItsPipeline)).filter(|_| had_time && !others_wait)
        };
        let best = best_of(None).or_else(by_log)?;
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
            ends && !lone && self.may_delete(*id) && !self.pending.is_going(c.id, *id)
        })
    }

    /// The replica that is one too many: not the only one of its rack, if that matters. One whose
    /// node has enough to delete is waited for: another one in its place would be a choice that
    /// another leader does not make. One that may have blocks that were deleted goes before the
    /// others, then one that was moved, then one on a disk of another storage type.
    fn extra_victim(&self, c: &Container, s: &ReplicaCount) -> Option<DatanodeId> {
        let keeps_racks = |id: &DatanodeId| {
            let rest: Vec<_> = s.heard.iter().copied().filter(|n| n != id).collect();
            !self.in_one_rack_of_several(&rest) || self.in_one_rack_of_several(&s.heard)
        };
        let may_go = |id: &DatanodeId| !self.only_of_its_origin(c, *id) && keeps_racks(id);
        let lags = |id: &DatanodeId| self.replicas.on(c.id, *id).is_some_and(|r| r.lags);
        let lagging = s.heard.iter().copied().find(|id| lags(id) && may_go(id));
        let moved = || self.moves.moved_from(c.id, &s.heard).filter(may_go);
        let wrong = |id: &DatanodeId| self.is_on_wrong_disk(c, *id) && may_go(id);
        let wrong = || s.heard.iter().copied().find(wrong);
        let any = || s.heard.iter().copied().find(may_go);
        let victim = lagging.or_else(moved).or_else(wrong).or_else(any);
        victim.filter(|id| self.may_delete(*id))
    }

    pub(super) fn may_delete(&self, node: DatanodeId) -> bool {
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
