//! Sources of copies and reconstructions of erasure coded containers.

use std::collections::BTreeMap;

use types::{ContainerId, DatanodeId};

use super::Replication;
use super::ec_count::EcReplicaCount;
use super::order::Repair;
use crate::shuffle::mixed;
use crate::state::order::{Order, OrderKind};
use crate::state::pending::{Pending, Task};
use crate::state::replica::ReplicaState;
use crate::time::Millis;

impl Replication<'_> {
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

    /// A node for each readable index except these: all of them, so that the result of decoding
    /// some can be checked with the others. Replicas that may have deleted blocks are excluded
    /// while there are more others than decoding takes.
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

    /// Adds UNHEALTHY replicas to the sources of a container with too few good ones: some of their
    /// blocks are good, and reads are verified. They are not decoded in the same order; if nothing
    /// else is missing, the first of them is.
    pub(super) fn add_damaged(
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

    /// Leaving nodes that an index can be copied from; those that failed recently only `again`.
    pub(super) fn senders(
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

    /// The node to copy an index from: preferably one that did not fail recently.
    pub(super) fn sender(
        &self,
        id: ContainerId,
        s: &EcReplicaCount,
        index: u32,
    ) -> Option<DatanodeId> {
        let able = self.senders(id, s, index, true).into_iter().filter(|node| self.may_send(*node));
        let failed = |node| self.pending.failed_lately(id, node);
        able.min_by_key(|node| (failed(*node), self.pending.sending(*node), mixed(id, *node)))
    }
}
