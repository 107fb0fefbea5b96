//! The deletion log of the cluster.

use types::DatanodeId;

use super::Cluster;
use crate::container::Holders;
use crate::deletion::{self, Draft, LogStatus, Round, Sending};
use crate::state::decision::Decision;
use crate::state::deletion::Transaction;
use crate::time::Millis;

impl Cluster {
    /// Numbers the drafts; `None` when the leader has not reserved enough numbers.
    pub fn number_deletions(&mut self, drafts: &[Draft]) -> Option<Vec<Transaction>> {
        deletion::number(&mut self.sequences, drafts)
    }

    /// One round of at most `most` blocks, limited by the settings, too. The changes drop
    /// transactions of containers that do not exist any more, and those that every replica has
    /// confirmed.
    pub fn send_deletions(&mut self, now: Millis, most: usize) -> (Round, Decision) {
        let Self { settings, nodes, pipelines, containers, replicas, pending, deletions, .. } =
            self;
        let holders = Holders { containers, pipelines, replicas };
        let sending = Sending { settings: &settings.deletion, nodes, holders, pending };
        deletion::send(deletions, &sending, now, most)
    }

    /// `node` has (true) or has not (false) deleted the blocks of these transactions. One that it
    /// has not is sent again in a later round.
    pub fn acknowledge_deletions(&mut self, node: DatanodeId, results: &[(u64, bool)]) -> Decision {
        let Self { pipelines, containers, replicas, pending, deletions, .. } = self;
        let holders = Holders { containers, pipelines, replicas };
        deletion::acknowledge(deletions, holders, pending, node, results)
    }

    /// Progress of the deletion log; at most `limit` transactions are checked, the oldest first.
    pub fn deletion_status(&self, limit: usize) -> LogStatus {
        deletion::status(&self.deletions, self.holders(), &self.settings.deletion, limit)
    }
}
