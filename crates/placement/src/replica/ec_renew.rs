//! Replicas of erasure coded containers that missed a deletion.
//!
//! SCM does not wait for an unreachable node after its index was decoded elsewhere: it forgets a
//! deletion when all known replicas have confirmed it. A replica that comes back later still has
//! the blocks ([`Replica::lags`](crate::Replica)). It lacks nothing, so it counts; and of two
//! replicas of an index it is the one to delete (`ec_delete.rs`). If it is the only one, its index
//! is decoded on another node from replicas that do not lag, which have the container's remaining
//! blocks; then it is one of two.
//!
//! **Invariant:** such replicas are deleted only by the rule for surplus ones.

use types::DatanodeId;

use super::Replication;
use super::ec_count::EcReplicaCount;
use super::order::Repair;
use crate::state::container::Container;
use crate::time::Millis;

impl Replication<'_> {
    /// Orders the reconstruction of an index of which every replica lags.
    pub(super) fn renew(&self, c: &Container, s: &EcReplicaCount, until: Millis) -> Option<Repair> {
        if self.is_copying_enough() {
            return None;
        }
        let (index, sources) = self.to_renew(c, s)?;
        let targets = self.choose_ec_targets(c, s, 1);
        self.reconstruct(c.id, sources, &[index], targets, until)
    }

    /// An index of which every replica lags, and the sources to decode it from; `None` when there
    /// is none, another repair comes first, or no node could get it.
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
