//! A node that leaves and its destination ([`Destinations`]): decides if a missing replica is
//! copied from the one to the other.
//!
//! The usual rules apply when the destination cannot take it (it has one already, has no room, is
//! not in service), when all replicas would be in one rack or too many indexes, and when the node
//! that leaves is not HEALTHY. The copy waits while one of the two is busy, since both are up and
//! nothing is lost meanwhile.

use types::DatanodeId;

use super::Replication;
use super::count::ReplicaCount;
use super::ec_count::EcReplicaCount;
use super::refuses::Refuses;
use crate::state::container::Container;
use crate::state::nodes::Destinations;

/// Effect of a node's destination on a container.
pub(super) enum Pair {
    /// Its replica is copied from one node to the other now.
    Copy(DatanodeId, DatanodeId),
    /// It is copied when both have time.
    Wait,
    /// The usual rules apply.
    None,
}

impl Replication<'_> {
    /// Determines if the missing copy of a replicated container is made from a node to its
    /// destination.
    pub(super) fn pair_of(
        &self,
        c: &Container,
        s: &ReplicaCount,
        destinations: &Destinations,
    ) -> Pair {
        if destinations.is_empty() {
            return Pair::None;
        }
        let newest = |id: &DatanodeId| self.replicas.on(c.id, *id).map_or(0, |r| r.sequence_id);
        let all = || s.serving.iter().chain(&s.leaving).chain(&s.maintenance);
        let best = all().map(newest).max();
        let placed: Vec<DatanodeId> =
            s.serving.iter().chain(&s.closing).chain(&s.coming).copied().collect();
        let from = s.leaving.iter().chain(&s.maintenance).filter(|id| Some(newest(id)) == best);
        let pair = self.first_pair(c, destinations, from.copied(), |target| {
            let mut with: Vec<DatanodeId> = placed.clone();
            with.push(target);
            !self.in_one_rack_of_several(&with)
        });
        // Replicas missing for another reason do not wait for two nodes.
        let away = s.leaving.len().saturating_add(s.maintenance.len());
        match pair {
            Pair::Wait if placed.len().saturating_add(away) < s.required => Pair::None,
            pair => pair,
        }
    }

    /// The same of an index of an erasure coded container.
    pub(super) fn pair_of_index(
        &self,
        c: &Container,
        s: &EcReplicaCount,
        destinations: &Destinations,
        index: u32,
    ) -> Pair {
        if destinations.is_empty() {
            return Pair::None;
        }
        let from = [&s.leaving, &s.maintenance].into_iter().filter_map(|of| of.get(&index));
        let from = from.flatten().copied().filter(|id| !self.pending.failed_lately(c.id, *id));
        self.first_pair(c, destinations, from, |target| !self.would_crowd(c, s, target))
    }

    fn first_pair(
        &self,
        c: &Container,
        destinations: &Destinations,
        from: impl Iterator<Item = DatanodeId>,
        racks_allow: impl Fn(DatanodeId) -> bool,
    ) -> Pair {
        for source in from.filter(|id| self.nodes.is_healthy(*id)) {
            let Some(target) = destinations.get(&source).copied() else { continue };
            let Some(node) = self.nodes.get(target) else { continue };
            let refuses = self.refuses(c, node);
            let by_log = refuses == Some(Refuses::ItsPipeline);
            if !self.can_get(c, node) || by_log || !racks_allow(target) {
                continue;
            }
            return match refuses.is_none() && self.may_send(source) {
                true => Pair::Copy(source, target),
                false => Pair::Wait,
            };
        }
        Pair::None
    }
}
