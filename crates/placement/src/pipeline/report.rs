//! DataNodes report the groups they run.

use types::{DatanodeId, PipelineId, PipelineState};

use crate::state::change::Change;
use crate::state::decision::Decision;
use crate::state::order::OrderKind;
use crate::state::pipeline::Pipelines;
use crate::time::Millis;

/// `node` runs these groups; the flag tells whether it leads.
///
/// An ALLOCATED pipeline that all members run and one leads becomes OPEN. A group that SCM
/// knows nothing of, or that the node is no member of, has to go.
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

/// A node says that a pipeline is broken (its log's disk failed, a member lags too far behind).
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
        // Its group is kept for the sake of its containers only, and is of no use for that on
        // this node.
        decision.order(node, OrderKind::ClosePipeline(id));
    }
    decision
}
