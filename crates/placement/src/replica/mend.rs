//! A damaged replica that no copy can replace.
//!
//! Where no other node can take a copy, as in a cluster of three, a replica that lacks writes makes
//! room for one (`in_the_way.rs`). An UNHEALTHY one that has come as far as the good ones stays: a
//! block may be whole in it that is damaged in the others, where no scan has found the damage yet.
//! Its node is ordered to reconcile it instead: the node fetches damaged and missing blocks from
//! the other replicas, block by block, and deletes nothing.

use types::{DatanodeId, OperationalState};

use super::Repairing;
use super::count::ReplicaCount;
use super::order::Repair;
use crate::container::reconcilable::{reconcilable, sources};
use crate::state::container::Container;
use crate::state::replica::ReplicaState;
use crate::time::Millis;

impl Repairing<'_> {
    /// Has a damaged replica reconciled with those of nodes that are HEALTHY and sent a heartbeat
    /// lately; `None` as long as another node may take a copy.
    pub(super) fn mend_in_place(
        &self,
        c: &Container,
        s: &ReplicaCount,
        (now, until): (Millis, Millis),
    ) -> Option<Repair> {
        let Self { containers, deletions, .. } = *self;
        let replicas = self.on.replicas;
        if s.heard.is_empty()
            || s.bad.is_empty()
            || !self.on.is_confined(c, s)
            || reconcilable(containers, replicas, deletions, c.id).is_err()
        {
            return None;
        }
        let victim = s.bad.iter().copied().find(|id| {
            let state = self.on.nodes.get(*id).map(|node| node.details.op_state);
            replicas.on(c.id, *id).is_some_and(|r| r.state == ReplicaState::Unhealthy)
                && state == Some(OperationalState::InService)
                && self.is_heard(*id, now)
                && self.on.may_send(*id)
                && !self.mending.was_tried(c.id, *id)
        })?;
        let mut peers = sources(replicas, c.id);
        peers.retain(|id| *id != victim && self.is_heard(*id, now));
        // Without a good one among them an operator decides.
        let any_good = peers.iter().any(|peer| s.heard.contains(peer));
        any_good.then(|| Repair::reconcile(c.id, victim, peers, until))
    }

    fn is_heard(&self, id: DatanodeId, now: Millis) -> bool {
        let stale_after = self.on.settings.stale_after;
        self.on.nodes.get(id).is_some_and(|node| node.is_heard(Some(now), stale_after))
    }
}
