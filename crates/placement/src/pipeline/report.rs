//! DataNodes report the groups they run.

use types::{DatanodeId, PipelineId, PipelineState};

use crate::state::change::Change;
use crate::state::decision::Decision;
use crate::state::order::OrderKind;
use crate::state::pipeline::Pipelines;
use crate::time::Millis;

/// `node` runs these groups; the flag is true for those that it leads.
///
/// An ALLOCATED pipeline that all members run and one leads becomes OPEN. A group without a
/// pipeline, or with one that the node is no member of, is deleted.
pub(crate) fn report(
    pipelines: &mut Pipelines,
    node: DatanodeId,
    reports: &[(PipelineId, bool)],
) -> Decision {
    let mut decision = Decision::default();
    for (id, leads) in reports.iter().copied() {
        let Some(entry) = pipelines.note_report(id, node, leads) else {
            decision.order(node, OrderKind::ClosePipeline(id));
            continue;
        };
        if entry.record.state == PipelineState::Allocated && entry.is_reported_by_all() {
            decision.changes.push(Change::OpenPipeline(id));
        }
    }
    decision
}

/// A node reports a broken pipeline (its log's disk failed, a member lags too far behind).
pub(crate) fn report_broken(
    pipelines: &Pipelines,
    node: DatanodeId,
    id: PipelineId,
    now: Millis,
) -> Decision {
    let mut decision = Decision::default();
    let Some(entry) = pipelines.get(id) else { return decision };
    if entry.record.member(node).is_none() {
        return decision;
    }
    if pipelines.accepts_or_will_accept_writes(id) {
        decision.changes.push(Change::ClosePipeline { id, now });
    } else if entry.record.state == PipelineState::Closed {
        // Its group is kept only for its containers, and cannot close them on this node.
        decision.order(node, OrderKind::ClosePipeline(id));
    }
    decision
}
