//! DataNodes confirm deletions.
//!
//! **Invariant:** a transaction leaves the log only when every replica known has confirmed it, and at least as many
//! nodes as the container ought to have replicas. A replica that is away keeps it in the log.

use types::DatanodeId;

use crate::{Change, Cluster, Decision};

impl Cluster {
    /// `node` has (true) or has not (false) deleted the blocks of these transactions. One that it has not is sent
    /// again in a later round.
    pub fn acknowledge_deletions(&mut self, node: DatanodeId, results: &[(u64, bool)]) -> Decision {
        let mut finished = Vec::new();
        for (id, success) in results {
            if self.deletions.get(*id).is_none() || !success {
                continue;
            }
            let progress = self.deletions.progress.entry(*id).or_default();
            if !progress.acknowledged.contains(&node) {
                progress.acknowledged.push(node);
            }
            if self.is_acknowledged(*id) {
                finished.push(*id);
            }
        }
        let mut decision = Decision::default();
        if !finished.is_empty() {
            decision.changes.push(Change::RemoveDeletions(finished));
        }
        decision
    }

    fn is_acknowledged(&self, id: u64) -> bool {
        let (Some(t), Some(progress)) = (self.deletions.get(id), self.deletions.progress.get(&id))
        else {
            return false;
        };
        let Some(container) = self.containers.get(t.container) else { return true };
        let acknowledged = &progress.acknowledged;
        acknowledged.len() >= container.config.required_nodes() as usize
            && self.holders(t.container).iter().all(|n| acknowledged.contains(n))
    }
}
