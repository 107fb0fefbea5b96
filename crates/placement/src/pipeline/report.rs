//! DataNodes report the groups they run.

use types::{DatanodeId, PipelineId, PipelineState};

use crate::cluster::Cluster;
use crate::state::change::Change;
use crate::state::decision::Decision;
use crate::state::order::OrderKind;
use crate::state::pipeline::PipelineEntry;

impl Cluster {
    /// `node` runs these groups; the flag tells whether it leads.
    ///
    /// An ALLOCATED pipeline that all members run and one leads becomes OPEN. A group that SCM
    /// knows nothing of, or that the node is no member of, has to go.
    pub fn report_pipelines(
        &mut self,
        node: DatanodeId,
        reports: &[(PipelineId, bool)],
    ) -> Decision {
        let mut decision = Decision::default();
        for (id, leads) in reports.iter().copied() {
            let is_member = |entry: &PipelineEntry| entry.record.member(node).is_some();
            if !self.pipelines.get(id).is_some_and(is_member) {
                decision.order(node, OrderKind::ClosePipeline(id));
                continue;
            }
            self.pipelines.note_report(id, node, leads);
            let starts = |entry: &PipelineEntry| {
                entry.record.state == PipelineState::Allocated && entry.is_reported_by_all()
            };
            if self.pipelines.get(id).is_some_and(starts) {
                decision.changes.push(Change::OpenPipeline(id));
            }
        }
        decision
    }

    /// A node says that a pipeline is broken (its log's disk failed, a member lags too far behind).
    pub fn report_broken_pipeline(&self, node: DatanodeId, id: PipelineId, now: u64) -> Decision {
        let mut decision = Decision::default();
        let Some(entry) = self.pipelines.get(id) else { return decision };
        if entry.record.member(node).is_none() {
            return decision;
        }
        if self.pipelines.accepts_or_will_accept_writes(id) {
            decision.changes.push(Change::ClosePipeline { id, now });
        } else if entry.record.state == PipelineState::Closed {
            // Its group is kept for the sake of its containers only, and is of no use for that on
            // this node.
            decision.order(node, OrderKind::ClosePipeline(id));
        }
        decision
    }
}
