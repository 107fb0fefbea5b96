//! The replica of a replicated container to delete.

use proto::hdds::LifeCycleState;
use types::DatanodeId;

use super::Replication;
use super::count::ReplicaCount;
use super::count::enough_sequence;
use super::moving::Moves;
use super::storage_type::is_on_wrong_disk;
use crate::state::container::Container;

impl Replication<'_> {
    /// A replica that lacks writes, or is UNHEALTHY, on a reachable node. A damaged one that has
    /// more writes than all good ones stays: it may have the only intact copies of blocks.
    pub(super) fn bad_victim(&self, c: &Container, s: &ReplicaCount) -> Option<DatanodeId> {
        let enough = enough_sequence(self.replicas, c);
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

    /// The surplus replica: not the only one of its rack, if racks matter. If the node of the
    /// choice has too many pending deletions, SCM waits: another leader would not choose another
    /// one. One that may have deleted blocks comes before the others, then one that was moved, then
    /// one on a disk of another storage type.
    pub(super) fn extra_victim(
        &self,
        c: &Container,
        s: &ReplicaCount,
        moves: &Moves,
    ) -> Option<DatanodeId> {
        let keeps_racks = |id: &DatanodeId| {
            let rest: Vec<_> = s.heard.iter().copied().filter(|n| n != id).collect();
            !self.in_one_rack_of_several(&rest) || self.in_one_rack_of_several(&s.heard)
        };
        let may_go = |id: &DatanodeId| !self.only_of_its_origin(c, *id) && keeps_racks(id);
        let lags = |id: &DatanodeId| self.replicas.on(c.id, *id).is_some_and(|r| r.lags);
        let lagging = s.heard.iter().copied().find(|id| lags(id) && may_go(id));
        let moved = || moves.moved_from(c.id, &s.heard).filter(may_go);
        let wrong = |id: &DatanodeId| is_on_wrong_disk(self.replicas, c, *id) && may_go(id);
        let wrong = || s.heard.iter().copied().find(wrong);
        let any = || s.heard.iter().copied().find(may_go);
        let victim = lagging.or_else(moved).or_else(wrong).or_else(any);
        victim.filter(|id| self.may_delete(*id))
    }

    /// As long as a container is QUASI_CLOSED it is unknown which origin has the last write.
    fn only_of_its_origin(&self, c: &Container, node: DatanodeId) -> bool {
        let Some(replica) = self.replicas.on(c.id, node) else { return false };
        c.state == LifeCycleState::QuasiClosed
            && !self.replicas.of(c.id).iter().any(|r| r.node != node && r.origin == replica.origin)
    }
}
