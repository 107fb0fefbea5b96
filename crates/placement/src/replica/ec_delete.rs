//! Replicas of closed erasure coded containers that go.
//!
//! **Invariant:** no deletion makes the number of different good indexes smaller. A good replica is
//! deleted only if another one of its index is on a node in service that is HEALTHY, has sent a
//! heartbeat within the time after which it would be STALE, has reported its replicas to this
//! leader ([`EcReplicaCount::heard`]), and was not ordered to delete it. A bad one is deleted if
//! there is such a good one of its index, and all others exist; or, if it occupies the only node
//! for a missing one, if there are such good ones of enough indexes to decode the others.

use types::DatanodeId;

use super::Replication;
use super::ec_count::EcReplicaCount;
use super::moving::Moves;
use super::order::Repair;
use super::storage_type::is_on_wrong_disk;
use crate::shuffle::mixed;
use crate::state::container::Container;
use crate::time::Millis;

impl Replication<'_> {
    /// One of an index that exists more than once. If the node of the choice has too many pending
    /// deletions, SCM waits: another leader would not choose another one.
    pub(super) fn delete_excess(
        &self,
        c: &Container,
        s: &EcReplicaCount,
        moves: &Moves,
        until: Millis,
    ) -> Option<Repair> {
        let twice = s.heard.iter().filter(|(_, nodes)| nodes.len() > 1);
        let mut victims = twice.filter_map(|(index, nodes)| {
            self.excess_victim(c, s, moves, (*index, nodes)).map(|node| (node, *index))
        });
        let victim = victims.find(|(node, _)| self.may_delete(*node))?;
        Some(Repair::delete(c.id, victim, until))
    }

    /// Chooses the replica of an index to delete: one that may have blocks that were deleted while
    /// its node was down; then the one that differs most from the other indexes, because it lacks
    /// blocks or has deleted ones; then the one that was moved; then one on a disk of another
    /// storage type; then the one in the rack with the most indexes.
    fn excess_victim(
        &self,
        c: &Container,
        s: &EcReplicaCount,
        moves: &Moves,
        (index, nodes): (u32, &[DatanodeId]),
    ) -> Option<DatanodeId> {
        let keys = |node: &DatanodeId| self.replicas.on(c.id, *node).map_or(0, |r| r.keys);
        let others = s.heard.iter().filter(|(other, _)| **other != index);
        let expected = others.flat_map(|(_, nodes)| nodes).map(keys).max();
        let differs =
            |node: &DatanodeId| expected.map_or(0, |expected| keys(node).abs_diff(expected));
        let by_rack = self.by_rack(s.serving.values().flatten());
        let crowd = |node: &DatanodeId| {
            let rack = self.nodes.get(*node).map(|n| n.details.network_location.as_str());
            rack.and_then(|rack| by_rack.get(rack)).copied().unwrap_or(0)
        };
        let moved = moves.moved_from(c.id, nodes);
        let rank = |node: &&DatanodeId| {
            let lags = s.lagging.contains(*node);
            let (moved, wrong) =
                (moved == Some(**node), is_on_wrong_disk(self.replicas, c, **node));
            (lags, differs(node), moved, wrong, crowd(node), mixed(c.id, **node))
        };
        nodes.iter().max_by_key(rank).copied()
    }

    /// A bad replica that is not needed. All indexes exist, or the caller would create others.
    pub(super) fn delete_bad(
        &self,
        c: &Container,
        s: &EcReplicaCount,
        until: Millis,
    ) -> Option<Repair> {
        if !s.needed(false).is_empty() {
            return None;
        }
        // The index of one that reports an invalid one is unknown: it may be any.
        let replaced = |index: &u32| match (1..=s.required).contains(index) {
            true => s.heard.contains_key(index),
            false => s.heard.len() >= s.required as usize,
        };
        let may_go = |(index, node): &&(u32, DatanodeId)| {
            replaced(index) && self.may_delete(*node) && !self.pending.is_going(c.id, *node)
        };
        let (index, victim) = s.bad.iter().find(may_go)?;
        Some(Repair::delete(c.id, (*victim, *index), until))
    }

    /// A bad replica whose node is the only place for a missing one. One at a time, so that the
    /// next one is deleted only after its replacement was created.
    pub(super) fn delete_bad_in_the_way(
        &self,
        c: &Container,
        s: &EcReplicaCount,
        until: Millis,
    ) -> Option<Repair> {
        let can_be_decoded = s.heard.len() >= s.data as usize;
        if !can_be_decoded || !s.coming.is_empty() || !s.closing.is_empty() {
            return None;
        }
        let goes_already = s.bad.iter().any(|(_, node)| self.pending.is_going(c.id, *node));
        let takes_place = |(_, node): &&(u32, DatanodeId)| {
            self.may_delete(*node) && self.nodes.get(*node).is_some_and(|n| n.accepts_writes())
        };
        let (index, victim) = s.bad.iter().find(takes_place).filter(|_| !goes_already)?;
        Some(Repair::delete(c.id, (*victim, *index), until))
    }
}
