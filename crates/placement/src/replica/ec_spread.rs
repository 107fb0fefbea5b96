//! The racks of erasure coded replicas: the loss of a rack loses no more indexes than the code can
//! make up for, where there are enough racks; else they are as even as can be.

use std::collections::BTreeMap;

use types::{DatanodeId, EcConfig, ReplicationConfig};

use super::Replication;
use super::ec_count::EcReplicaCount;
use super::order::Repair;
use crate::shuffle::mixed;
use crate::state::container::Container;
use crate::state::node::Node;
use crate::time::Millis;

impl Replication<'_> {
    /// Up to `wanted` nodes to get an index each, in the racks that have the fewest. One that
    /// failed recently comes last.
    pub(super) fn choose_ec_targets(
        &self,
        c: &Container,
        s: &EcReplicaCount,
        wanted: usize,
    ) -> Vec<DatanodeId> {
        let limit = self.settings.replication.copies_per_node.max(1);
        let fits = |n: &&Node| self.can_get(c, n) && self.pending.receiving(n.details.id) < limit;
        let mut candidates: Vec<&Node> = self.nodes.iter().filter(fits).collect();
        let mut by_rack = self.by_rack(placed(s));
        let mut targets = Vec::new();
        while targets.len() < wanted {
            let rank = |n: &&&Node| {
                let id = n.details.id;
                let in_rack = by_rack.get(self.rack_of(n)).copied().unwrap_or(0);
                let work = self.pending.receiving(id).saturating_add(self.pending.sending(id));
                let failed = self.pending.failed_lately(c.id, id);
                let detour = n.detour(c.storage_type, c.used_bytes);
                (failed, in_rack, detour, work, n.used_percent(), mixed(c.id, id))
            };
            let Some(best) = candidates.iter().min_by_key(rank).copied() else { break };
            candidates.retain(|n| n.details.id != best.details.id);
            let count = by_rack.entry(self.rack_of(best)).or_default();
            *count = count.saturating_add(1);
            targets.push(best.details.id);
        }
        targets
    }

    /// Returns `true` if a rack has more indexes than it should, and one of them could be in
    /// another.
    pub fn is_crowded(&self, c: &Container, s: &EcReplicaCount) -> bool {
        self.crowded_rack(c, s).is_some_and(|(_, crowd, by_rack)| {
            let helps = |n: &Node| {
                let there = by_rack.get(self.rack_of(n)).copied().unwrap_or(0);
                there.saturating_add(1) < crowd && self.can_get(c, n)
            };
            self.nodes.iter().any(helps)
        })
    }

    /// Returns `true` if a rack would have more indexes than it should with one on this node.
    pub(super) fn would_crowd(&self, c: &Container, s: &EcReplicaCount, node: DatanodeId) -> bool {
        let Some(most) = self.most_in_rack(c, s) else { return false };
        let Some(node) = self.nodes.get(node) else { return true };
        let there = self.by_rack(placed(s)).get(self.rack_of(node)).copied().unwrap_or(0);
        there >= most
    }

    /// Maximum of indexes in a rack: the number that the code can recover, or the even share.
    /// `None` where racks do not matter.
    fn most_in_rack(&self, c: &Container, s: &EcReplicaCount) -> Option<usize> {
        let ReplicationConfig::Ec(EcConfig { parity, .. }) = c.config else { return None };
        let share = (s.required as usize).div_ceil(self.nodes.racks().max(1));
        self.settings.replication.rack_aware.then_some(share.max(parity as usize))
    }

    /// Copies an index out of a rack that has too many; its source is surplus then.
    pub(super) fn spread(
        &self,
        c: &Container,
        s: &EcReplicaCount,
        until: Millis,
    ) -> Option<Repair> {
        if s.has_excess() || !s.bad.is_empty() || !s.going.is_empty() || self.is_copying_enough() {
            return None;
        }
        let (rack, crowd, by_rack) = self.crowded_rack(c, s)?;
        let target = self.choose_ec_targets(c, s, 1).first().copied()?;
        let there = by_rack.get(self.rack_of(self.nodes.get(target)?)).copied().unwrap_or(0);
        if there.saturating_add(1) >= crowd {
            return None;
        }
        let all = s.serving.iter().flat_map(|(i, nodes)| nodes.iter().map(|node| (*node, *i)));
        let sends = |(node, _): &(DatanodeId, u32)| {
            let in_rack = self.nodes.get(*node).is_some_and(|n| self.rack_of(n) == rack);
            in_rack && self.may_send(*node) && !self.pending.failed_lately(c.id, *node)
        };
        let rank =
            |(node, _): &(DatanodeId, u32)| (self.pending.sending(*node), mixed(c.id, *node));
        let source = all.filter(sends).min_by_key(rank)?;
        Some(Repair::copy(c.id, source, target, until))
    }

    /// The rack with the most indexes, if these are more than the code can make up for and than its
    /// even share, and how many each rack has.
    fn crowded_rack(
        &self,
        c: &Container,
        s: &EcReplicaCount,
    ) -> Option<(&str, usize, BTreeMap<&str, usize>)> {
        let most = self.most_in_rack(c, s)?;
        let by_rack = self.by_rack(placed(s));
        let (rack, crowd) = by_rack.iter().map(|(rack, n)| (*rack, *n)).max_by_key(|(_, n)| *n)?;
        (crowd > most).then_some((rack, crowd, by_rack))
    }
}

/// Nodes with a replica that stays, or a pending one.
fn placed(s: &EcReplicaCount) -> impl Iterator<Item = &DatanodeId> {
    [&s.serving, &s.closing, &s.coming, &s.maintenance]
        .into_iter()
        .flat_map(|by_index| by_index.values().flatten())
}
