//! Limits on what nodes do for repairs at a time.

use types::{DatanodeId, OperationalState};

use super::Replication;
use crate::settings::whole;
use crate::state::node::Health;

impl Replication<'_> {
    /// Returns `true` if the cluster's limit of copies in flight is reached.
    pub fn is_copying_enough(&self) -> bool {
        let r = &self.settings.replication;
        if r.in_flight_share <= 0.0 {
            return false;
        }
        let healthy = self.nodes.count(Health::Healthy) as f64;
        let most = whole(healthy * f64::from(r.copies_per_node) * r.in_flight_share).max(1);
        self.pending.copies() >= most
    }

    /// Returns `true` if a node can send one more copy.
    pub fn may_send(&self, id: DatanodeId) -> bool {
        let Some(node) = self.nodes.get(id) else { return false };
        let r = &self.settings.replication;
        let limit = match node.details.op_state {
            OperationalState::InService => r.copies_per_node,
            _ => {
                let more = whole(f64::from(r.copies_per_node) * r.out_of_service_factor);
                u32::try_from(more).unwrap_or(u32::MAX)
            }
        };
        node.health == Health::Healthy && self.pending.sending(id) < limit.max(1)
    }

    /// Returns `true` if a node can delete one more replica.
    pub(super) fn may_delete(&self, node: DatanodeId) -> bool {
        self.nodes.is_healthy(node)
            && self.pending.deleting(node) < self.settings.replication.deletes_per_node.max(1)
    }
}
