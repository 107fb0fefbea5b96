//! Evidence that the last write to a QUASI_CLOSED container is known.

use types::DatanodeId;

use super::Reported;
use crate::state::container::Container;
use crate::state::node::Health;
use crate::state::replica::{Replica, ReplicaState};
use crate::time::{Millis, elapsed};

impl Reported<'_> {
    /// Returns `true` if the reported quasi-closed replicas must include the last acknowledged
    /// write: those of all origins; or of a majority, without which no write was acknowledged, when
    /// the nodes of the missing ones are dead, or had time to report: a member that never wrote to
    /// the container has no replica.
    pub(crate) fn last_write_is_known(&self, c: &Container, now: Millis) -> bool {
        let mut origins: Vec<_> = self
            .replicas
            .of(c.id)
            .iter()
            .filter(|r| is_quasi_closed(r))
            .map(|r| r.origin)
            .collect();
        origins.sort_unstable();
        origins.dedup();
        let required = c.config.required_nodes() as usize;
        if origins.len() >= required {
            return true;
        }
        let alive = self.nodes.iter().filter(|n| n.health != Health::Dead).count();
        let others_are_lost = alive < required
            || self.replicas.of(c.id).iter().all(is_quasi_closed)
                && self.lost_members(c).saturating_add(origins.len()) >= required;
        let waited = elapsed(c.state_enter_ms, now) >= self.settings.dead_after;
        (others_are_lost || waited) && origins.len() > required / 2
    }

    /// Members of the container's pipeline that are dead.
    fn lost_members(&self, c: &Container) -> usize {
        let Some(entry) = c.pipeline.and_then(|p| self.pipelines.get(p)) else { return 0 };
        let dead = |id: DatanodeId| self.nodes.get(id).is_some_and(|n| n.health == Health::Dead);
        entry.record.members.iter().filter(|m| dead(m.id)).count()
    }
}

/// Returns `true` if a replica is QUASI_CLOSED.
pub(crate) fn is_quasi_closed(r: &Replica) -> bool {
    r.state == ReplicaState::QuasiClosed
}
