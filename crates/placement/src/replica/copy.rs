//! The nodes that send and get the copy of a replicated container.

use types::DatanodeId;

use super::Replication;
use super::count::ReplicaCount;
use super::refuses::Refuses;
use crate::shuffle::mixed;
use crate::state::container::Container;
use crate::state::node::Node;
use crate::time::{Millis, elapsed};

impl Replication<'_> {
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

    /// The node to get a copy: with room, without a replica, in a rack where it does the most good.
    /// A member of the container's own living pipeline may still make its replica by the log: it
    /// gets a copy only when no other node can take one, and it had the time that makes a node
    /// dead.
    pub(super) fn choose_target(
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
            // A copy that improves racks is useless in the wrong one.
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
        // A copy to the same rack would be repeated for ever if racks are the reason.
        let rack = best.details.network_location.as_str();
        (!elsewhere || !racks.contains(rack)).then_some(best.details.id)
    }
}
