//! Repair of closed containers: creates missing replicas, deletes surplus and bad ones.
//!
//! One replica at a time is copied or deleted per container and check; pending orders count as done
//! ([`pending`](super::pending)). The containers that are closest to being lost come first
//! ([`urgency`](super::urgency)). For erasure coded ones see `ec_repair.rs`: each of their replicas
//! is unique. For full copies, in this order:
//! 1. **under-replicated**: a node that has a good replica sends it to one that has none; one that
//!    lacks writes is deleted first if no other node can take it (`in_the_way.rs`);
//! 2. **misplaced**: the same, to another rack; then one is surplus;
//! 3. **bad replicas** are deleted if there are enough good ones;
//! 4. **over-replicated**: one is deleted that the racks do not need;
//! 5. **on a disk of another storage type**: it is moved (`wrong_disk.rs`).
//!
//! **Invariant:** a replica is ordered to be deleted only if `required` other good ones exist (two
//! of three for the one of `in_the_way.rs`), each on a node in service that is HEALTHY, has sent a
//! heartbeat within the time after which it would be STALE, and has reported its replicas to this
//! leader ([`ReplicaCount::heard`]); none of them has an order to be deleted.
//!
//! Orders of two leaders do not add up: a node reports its replicas to a leader only after it has
//! received its term, and from then on rejects the orders of earlier leaders (`Node::confirmed`).
//! Among the same replicas the choice depends only on the ids, whichever SCM makes it and in
//! whatever order they were reported.

use proto::hdds::LifeCycleState;
use types::ContainerId;

use super::backoff::Backoffs;
use super::mending::Mending;
use super::moving::Moves;
use super::order::Repair;
use super::reconcile::follow_closed;
use super::storage_type::StorageTypeRepairs;
use super::urgency::{Left, Urgency};
use super::{Repairing, Replication};
use crate::container::history::note_order;
use crate::settings::Settings;
use crate::state::container::{Container, Containers};
use crate::state::decision::Decision;
use crate::state::deletion::DeletionLog;
use crate::state::history::{Event, Histories};
use crate::state::nodes::{Destinations, Nodes};
use crate::state::order::OrderKind;
use crate::state::pending::PendingTasks;
use crate::state::pipeline::Pipelines;
use crate::state::replica::Replicas;
use crate::time::{Millis, elapsed};

/// Results of a check of some containers.
#[derive(Debug, Default)]
pub struct Repairs {
    /// Orders and changes.
    pub decision: Decision,
    /// Start of the next check; `None` when all containers were checked.
    pub next: Option<ContainerId>,
}

/// State that a round of repairs reads and changes.
#[derive(Debug)]
pub(crate) struct Round<'a> {
    pub settings: &'a Settings,
    pub nodes: &'a Nodes,
    pub pipelines: &'a Pipelines,
    pub containers: &'a Containers,
    pub replicas: &'a Replicas,
    pub deletions: &'a DeletionLog,
    pub moves: &'a Moves,
    pub destinations: &'a Destinations,
    pub pending: &'a mut PendingTasks,
    pub backoffs: &'a mut Backoffs,
    pub urgency: &'a mut Urgency,
    pub storage_types: &'a mut StorageTypeRepairs,
    pub mending: &'a mut Mending,
    pub histories: &'a mut Histories,
}

impl Round<'_> {
    fn view(&self) -> Repairing<'_> {
        let Self { settings, nodes, pipelines, replicas, moves, destinations, .. } = *self;
        let Self { containers, deletions, .. } = *self;
        let on = Replication { settings, nodes, pipelines, replicas, pending: self.pending };
        Repairing {
            on,
            containers,
            deletions,
            moves,
            destinations,
            storage_types: self.storage_types,
            mending: self.mending,
            urgency: self.urgency,
        }
    }

    /// Checks up to `count` containers from `start` on, and orders copies and deletions within the
    /// limits of pending ones.
    pub fn run(&mut self, start: ContainerId, count: usize, now: Millis) -> Repairs {
        let mut repairs = Repairs::default();
        let timeout = self.settings.replication.timeout;
        let until = now.saturating_add(timeout);
        if start == ContainerId(0) {
            let (containers, replicas) = (self.containers, self.replicas);
            let has = |id, node| replicas.on(id, node).is_some();
            for (id, late) in self.pending.expire(now, timeout, has) {
                self.histories.note(id, now, Event::Late { node: late.node });
            }
            self.backoffs.retain(|id| containers.get(id).is_some());
            self.urgency.begin_round(now, &self.settings.replication);
            self.storage_types.begin_round(self.nodes, now);
            self.mending.begin_round(now);
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
                if left != Urgency::CAN_WAIT && self.view().on.is_copying_enough() {
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
            let health = self.containers.get(id).map(|c| self.view().on.health(c));
            let why = repair.why.or(health);
            note_order(self.histories, self.containers, id, &repair.order, why, now);
            if matches!(repair.order.kind, OrderKind::ReconcileContainer { .. }) {
                self.mending.note(id, repair.order.node, now);
            } else if repair.why.is_some() {
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

    /// Repeats deletions that their nodes may have lost, if the same replica would be chosen now.
    /// Another one may have been lost since: then this one stays, if its node lost the order, and
    /// counts as being deleted until its node reports it after the timeout.
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

    /// Number of replicas that a container can lose and still be read; `None` if it needs no
    /// repair.
    fn left_of(&self, id: ContainerId, now: Millis) -> Option<Left> {
        let container = self.containers.get(id)?;
        // Just closed: the reports of the other replicas are in flight.
        if elapsed(container.state_enter_ms, now) < self.settings.resend_after {
            return None;
        }
        match container.config.is_ec() {
            true => self.view().left_of_ec(container, now),
            false => self.view().left_of(container, now),
        }
    }

    /// The next thing to do for a container.
    fn repair(&self, id: ContainerId, now: Millis, until: Millis) -> Option<Repair> {
        let container = self.containers.get(id)?;
        match container.config.is_ec() {
            true => self.view().repair_ec(container, now, until),
            false => self.view().repair(container, now, until),
        }
    }
}

/// Orders to close replicas of CLOSED containers that are not CLOSED and could be, once more: the
/// order that answered their last report may be lost, or there was none, because the container was
/// not CLOSED then. Checks up to `count` containers from `start` on.
pub(crate) fn repeat_closes(
    on: &Replication<'_>,
    containers: &Containers,
    (start, count): (ContainerId, usize),
    now: Millis,
) -> Decision {
    let mut decision = Decision::default();
    for container in containers.from(start).take(count) {
        repeat_close(on, container, now, &mut decision);
    }
    decision
}

fn repeat_close(on: &Replication<'_>, c: &Container, now: Millis, decision: &mut Decision) {
    let is_due = elapsed(c.state_enter_ms, now) >= on.settings.resend_after;
    if c.state != LifeCycleState::Closed || !is_due {
        return;
    }
    for replica in on.replicas.of(c.id) {
        if on.nodes.is_healthy(replica.node) {
            follow_closed(c, replica, decision);
        }
    }
}
