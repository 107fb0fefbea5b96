//! Replicas of erasure coded containers that missed a deletion.
//!
//! A node that is away is not waited for once its index was decoded elsewhere: SCM forgets a
//! deletion when all replicas that it knows have confirmed it. A replica that comes back behind
//! that still has the blocks ([`Replica::lags`](crate::Replica)). It lacks nothing, so it counts;
//! and of two replicas of an index it is the one that goes (`ec_delete.rs`). Where it is the only
//! one, its index is decoded on another node from those that do not lag, which have what is left of
//! the container; then it is one of two.
//!
//! **Invariant:** nothing goes for this but by the rule for what is there twice.

use types::DatanodeId;

use super::Replication;
use super::ec_count::EcReplicaCount;
use super::order::Repair;
use crate::state::container::Container;
use crate::time::Millis;

impl Replication<'_> {
    /// Has an index decoded anew of which every replica lags.
    pub(super) fn renew(&self, c: &Container, s: &EcReplicaCount, until: Millis) -> Option<Repair> {
        if self.is_copying_enough() {
            return None;
        }
        let (index, sources) = self.to_renew(c, s)?;
        let targets = self.choose_ec_targets(c, s, 1);
        self.reconstruct(c.id, sources, &[index], targets, until)
    }

    /// An index of which every replica lags, and those to decode it from; `None` when there is
    /// none, something else is to be done first, or no node could get it.
    pub(super) fn to_renew(
        &self,
        c: &Container,
        s: &EcReplicaCount,
    ) -> Option<(u32, Vec<(DatanodeId, u32)>)> {
        let is_settled = s.is_fine() && s.coming.is_empty() && s.going.is_empty();
        if s.lagging.is_empty() || !is_settled {
            return None;
        }
        let lags = |nodes: &[DatanodeId]| nodes.iter().all(|node| s.lagging.contains(node));
        let (index, _) = s.serving.iter().find(|(_, nodes)| lags(nodes))?;
        let mut sources = self.sources(c.id, s, &[*index]);
        sources.retain(|(node, _)| !s.lagging.contains(node));
        let are_enough = sources.len() >= s.data as usize;
        let has_target = || self.nodes.iter().any(|node| self.can_get(c, node));
        (are_enough && has_target()).then_some((*index, sources))
    }
}
