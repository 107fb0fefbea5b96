//! Closing containers: when, and the orders that make the replicas follow.

use proto::hdds::{LifeCycleEvent, LifeCycleState};
use types::ContainerId;

use super::Holders;
use crate::state::change::Change;
use crate::state::container::Containers;
use crate::state::decision::Decision;
use crate::state::order::OrderKind;
use crate::time::Millis;

/// Finalizes a container that accepts no more blocks: it is full, or a node or an operator requests
/// that it closes. Does nothing if it is not OPEN.
pub(crate) fn finalize(containers: &Containers, id: ContainerId, now: Millis) -> Decision {
    let mut decision = Decision::default();
    if let Some(c) = containers.get(id).filter(|c| c.state == LifeCycleState::Open) {
        decision.changes.push(Change::MoveContainer {
            id,
            event: LifeCycleEvent::Finalize,
            now,
            usage: c.usage(),
        });
    }
    decision
}

/// Orders for a CLOSING container: every node that has, or may make, a replica shall close it,
/// unless it has.
pub(crate) fn order_close(holders: Holders<'_>, id: ContainerId) -> Decision {
    let mut decision = Decision::default();
    let Some(container) = holders.containers.get(id) else { return decision };
    let Some(pipeline) = container.pipeline else { return decision };
    for node in holders.of(id) {
        if holders.replicas.on(id, node).is_some_and(|r| r.state.is_final()) {
            continue;
        }
        decision.order(node, OrderKind::CloseContainer { id, pipeline, force: false });
    }
    decision
}
