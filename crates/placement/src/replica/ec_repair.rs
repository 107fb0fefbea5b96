//! Making the replicas of closed erasure coded containers what they should be: one good replica of
//! each index.
//!
//! One order per container and look; what is under way counts as done
//! ([`pending`](super::pending)). In this order:
//! 1. **indexes that are missing** are decoded from the others by a node that gets one of them, all
//!    of them in one order. One that a node has which leaves, or enters maintenance, is copied from
//!    there; it is decoded only when it cannot be read there;
//! 2. an index that is there **more than once** is deleted, then **bad replicas** (`ec_delete.rs`);
//! 3. an index of which every replica **may have blocks that were deleted** is decoded on another
//!    node (`ec_renew.rs`);
//! 4. when a rack has **more indexes than it should**, one is copied to another (`ec_spread.rs`);
//! 5. one that is **on a disk of another storage type** is moved (`storage_type.rs`).
//!
//! **Invariant:** no index is decoded while it is, or may yet be, on a node in service, but for one
//! that is made anew (3.), and none of a container of which fewer indexes can be read than that
//! takes. When too few good ones are left UNHEALTHY replicas are read, too: they do not count, and
//! the decoding node verifies each of their blocks.

use std::collections::BTreeMap;

use types::{ContainerId, DatanodeId};

use super::count::mixed;
use super::ec_count::EcReplicaCount;
use super::pair::Pair;
use super::repair::Repair;
use super::urgency::{Left, Urgency};
use crate::cluster::Cluster;
use crate::state::container::Container;
use crate::state::order::{Order, OrderKind};
use crate::state::pending::{Pending, Task};
use crate::state::replica::ReplicaState;
use crate::time::Millis;

/// What becomes of indexes that are missing.
enum Bring {
    /// Some of them are on their way now.
    Ordered(Repair),
    /// They wait for limits, for nodes that have enough to do, or for enough of the others.
    Waits,
    /// Each node that could get one has a replica of the container already.
    NoTarget,
}

impl Cluster {
    /// How many indexes a container can lose until it cannot be read; `None` when there is nothing
    /// to do for it.
    pub(super) fn left_of_ec(&self, c: &Container, now: Millis) -> Option<Left> {
        let count = self.ec_replica_count_at(c, Some(now))?;
        if count.needed(true).is_empty() {
            let is_fine = count.is_fine()
                && self.to_renew(c, &count).is_none()
                && !self.is_crowded(c, &count)
                && self.on_wrong_disks(c, count.heard.values().flatten()).next().is_none();
            return (!is_fine).then_some(Urgency::CAN_WAIT);
        }
        if count.is_lost() {
            // A copy of what is left of it can be made, at most.
            return Some(count.required);
        }
        let left = count.readable().saturating_sub(count.data as usize);
        Some(Left::try_from(left).unwrap_or(count.required))
    }

    /// The next thing to do for a container.
    pub(super) fn repair_ec(&self, c: &Container, now: Millis, until: Millis) -> Option<Repair> {
        let count = self.ec_replica_count_at(c, Some(now))?;
        let needed = count.needed(true);
        if !needed.is_empty() {
            return match self.bring(c, &count, &needed, until) {
                Bring::Ordered(repair) => Some(repair),
                Bring::Waits => None,
                // One that is there twice, or is bad, may be where a missing one could be.
                Bring::NoTarget => self
                    .delete_excess(c, &count, until)
                    .or_else(|| self.delete_bad_in_the_way(c, &count, until)),
            };
        }
        if !count.coming.is_empty() || !count.closing.is_empty() {
            return None;
        }
        self.delete_excess(c, &count, until)
            .or_else(|| self.delete_bad(c, &count, until))
            .or_else(|| self.renew(c, &count, until))
            .or_else(|| self.spread(c, &count, until))
            .or_else(|| self.bring_index_to_type(c, &count, until))
    }

    fn bring_index_to_type(
        &self,
        c: &Container,
        s: &EcReplicaCount,
        until: Millis,
    ) -> Option<Repair> {
        let heard = s.heard.values().flatten();
        if s.is_fine() { self.bring_to_type(c, heard, until) } else { None }
    }

    fn bring(&self, c: &Container, s: &EcReplicaCount, needed: &[u32], until: Millis) -> Bring {
        let can_copy = |index: &u32, again: bool| !self.senders(c.id, s, *index, again).is_empty();
        let (mut copied, mut decoded): (Vec<u32>, Vec<u32>) =
            needed.iter().partition(|index| can_copy(index, false));
        let mut sources = self.sources(c.id, s, &decoded);
        if sources.len() < s.data as usize {
            self.add_damaged(c.id, s, &mut sources, &mut decoded);
        }
        if sources.len() < s.data as usize {
            // A copy that failed is all that there is left to try.
            copied = needed.iter().copied().filter(|index| can_copy(index, true)).collect();
            decoded.clear();
        }
        if (copied.is_empty() && decoded.is_empty()) || self.is_copying_enough() {
            return Bring::Waits;
        }
        let mut paired = None;
        copied.retain(|index| match self.pair_of_index(c, s, *index) {
            Pair::Copy(source, target) => {
                paired.get_or_insert_with(|| Repair::copy(c.id, (source, *index), target, until));
                false
            }
            Pair::Wait => false,
            Pair::None => true,
        });
        if decoded.is_empty() && (paired.is_some() || copied.is_empty()) {
            return paired.map_or(Bring::Waits, Bring::Ordered);
        }
        let targets = self.choose_ec_targets(c, s, needed.len());
        let Some(target) = targets.first().copied() else {
            return match self.nodes.iter().any(|node| self.can_get(c, node)) {
                true => Bring::Waits,
                false => Bring::NoTarget,
            };
        };
        self.reconstruct(c.id, sources, &decoded, targets, until)
            .or(paired)
            .or_else(|| {
                let copy = |index: &u32| {
                    let source = self.sender(c.id, s, *index)?;
                    Some(Repair::copy(c.id, (source, *index), target, until))
                };
                copied.iter().find_map(copy)
            })
            .map_or(Bring::Waits, Bring::Ordered)
    }

    /// The order to decode these indexes, as many as there are targets for.
    pub(super) fn reconstruct(
        &self,
        id: ContainerId,
        sources: Vec<(DatanodeId, u32)>,
        indexes: &[u32],
        mut targets: Vec<DatanodeId>,
        until: Millis,
    ) -> Option<Repair> {
        targets.truncate(indexes.len());
        let able = targets.iter().enumerate().filter(|(_, target)| self.may_send(**target));
        let (first, _) = able.min_by_key(|(_, target)| self.pending.sending(**target))?;
        targets.swap(0, first);
        let coordinator = targets.first().copied()?;
        let targets: Vec<_> = targets.into_iter().zip(indexes.iter().copied()).collect();
        let weight = self.settings.replication.reconstruction_weight.max(1);
        let task = |(node, index): &(DatanodeId, u32)| {
            let load = if *node == coordinator { weight } else { 0 };
            let task = Task::Reconstruct { coordinator, index: *index, load };
            Pending { node: *node, task, until }
        };
        Some(Repair {
            tasks: targets.iter().map(task).collect(),
            order: Order {
                node: coordinator,
                kind: OrderKind::ReconstructEcContainer { id, sources, targets },
            },
            why: None,
        })
    }

    /// A node for each index but these that can be read now: all of them, so that what is decoded
    /// from some can be checked with the others. Those that may have blocks that were deleted are
    /// not among them while there are more others than it takes.
    pub(super) fn sources(
        &self,
        id: ContainerId,
        s: &EcReplicaCount,
        without: &[u32],
    ) -> Vec<(DatanodeId, u32)> {
        let readable = |index: u32| {
            let of = |nodes: Option<&Vec<DatanodeId>>| {
                let healthy = nodes?.iter().filter(|node| self.nodes.is_healthy(**node));
                let rank = |node: &&DatanodeId| (s.lagging.contains(*node), mixed(id, **node));
                healthy.min_by_key(rank).copied()
            };
            of(s.serving.get(&index))
                .or_else(|| of(s.leaving.get(&index)))
                .or_else(|| of(s.maintenance.get(&index)))
                .map(|node| (node, index))
        };
        let all = (1..=s.required).filter(|index| !without.contains(index)).filter_map(readable);
        let (fresh, lagging): (Vec<_>, Vec<_>) =
            all.partition(|(node, _)| !s.lagging.contains(node));
        if fresh.len() > s.data as usize {
            return fresh;
        }
        let mut all: Vec<_> = fresh.into_iter().chain(lagging).collect();
        all.sort_unstable_by_key(|(_, index)| *index);
        all
    }

    /// Adds UNHEALTHY replicas to the sources of a container of which too few good ones are left:
    /// some of their blocks are good, and what is read is verified. They are not decoded in the
    /// same order; if they are all that is missing, the first of them is.
    fn add_damaged(
        &self,
        id: ContainerId,
        s: &EcReplicaCount,
        sources: &mut Vec<(DatanodeId, u32)>,
        decoded: &mut Vec<u32>,
    ) {
        if !s.is_lost() {
            return;
        }
        let is_source = |(index, node): &&(u32, DatanodeId)| {
            let replica = self.replicas.on(id, *node);
            (1..=s.required).contains(index)
                && replica.is_some_and(|r| r.state == ReplicaState::Unhealthy)
                && self.nodes.is_healthy(*node)
                && !self.pending.is_going(id, *node)
        };
        let mut damaged: BTreeMap<u32, DatanodeId> = BTreeMap::new();
        for (index, node) in s.bad.iter().filter(is_source) {
            if !sources.iter().any(|(_, there)| there == index) {
                damaged.entry(*index).or_insert(*node);
            }
        }
        if decoded.iter().all(|index| damaged.contains_key(index)) {
            damaged.pop_first();
        }
        decoded.retain(|index| !damaged.contains_key(index));
        sources.extend(damaged.into_iter().map(|(index, node)| (node, index)));
        sources.sort_unstable_by_key(|(_, index)| *index);
    }

    /// Nodes on their way out that an index can be copied from; those that failed lately only
    /// `again`.
    fn senders(
        &self,
        id: ContainerId,
        s: &EcReplicaCount,
        index: u32,
        again: bool,
    ) -> Vec<DatanodeId> {
        let nodes = [&s.leaving, &s.maintenance].into_iter().filter_map(|of| of.get(&index));
        let sends = |node: &DatanodeId| {
            self.nodes.is_healthy(*node) && (again || !self.pending.failed_lately(id, *node))
        };
        nodes.flatten().copied().filter(sends).collect()
    }

    /// The node to copy an index from: one that did not fail lately, if there is one.
    fn sender(&self, id: ContainerId, s: &EcReplicaCount, index: u32) -> Option<DatanodeId> {
        let able = self.senders(id, s, index, true).into_iter().filter(|node| self.may_send(*node));
        let failed = |node| self.pending.failed_lately(id, node);
        able.min_by_key(|node| (failed(*node), self.pending.sending(*node), mixed(id, *node)))
    }
}
