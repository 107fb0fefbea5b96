//! Events recorded in the histories of containers.

use types::{ContainerId, DatanodeId};

use crate::state::container::Containers;
use crate::state::history::{Event, Histories};
use crate::state::order::{Order, OrderKind};
use crate::state::replica::{Replica, ReplicaState, Replicas};
use crate::time::Millis;

/// Notes orders about single containers, that are sent because of what their containers are.
pub(crate) fn note_orders(
    histories: &mut Histories,
    containers: &Containers,
    orders: &[Order],
    now: Millis,
) {
    for order in orders {
        if let Some(id) = container_of(&order.kind) {
            note_order(histories, containers, id, order, None, now);
        }
    }
}

/// The same for one that is sent for another reason than the container's state.
pub(crate) fn note_order(
    histories: &mut Histories,
    containers: &Containers,
    id: ContainerId,
    order: &Order,
    why: Option<&'static str>,
    now: Millis,
) {
    let Some(container) = containers.get(id) else { return };
    let why = why.unwrap_or_else(|| container.state.as_str_name());
    histories.note(id, now, Event::Ordered { order: order.clone(), why });
}

/// Notes what a node reports of a container's replica, as far as that is new.
pub(crate) fn note_replica(
    histories: &mut Histories,
    id: ContainerId,
    replica: &Replica,
    before: Option<ReplicaState>,
    awaited: bool,
    now: Millis,
) {
    let Replica { node, state, replica_index: index, .. } = *replica;
    let event = match before {
        None => Event::Appeared { node, index, state, awaited },
        Some(was) if was != state => Event::Changed { node, was, state },
        Some(_) => return,
    };
    histories.note(id, now, event);
}

/// Notes that a node has no replica of a container, if it had one.
pub(crate) fn note_gone(
    histories: &mut Histories,
    containers: &Containers,
    replicas: &Replicas,
    (id, node): (ContainerId, DatanodeId),
    now: Millis,
) {
    if containers.get(id).is_some() && replicas.on(id, node).is_some() {
        histories.note(id, now, Event::Gone { node });
    }
}

/// The container that an order is about; `None` where it is about others.
fn container_of(kind: &OrderKind) -> Option<ContainerId> {
    match kind {
        OrderKind::CloseContainer { id, .. }
        | OrderKind::DeleteContainer { id, .. }
        | OrderKind::ReplicateContainer { id, .. }
        | OrderKind::ReconstructEcContainer { id, .. }
        | OrderKind::ReconcileContainer { id, .. } => Some(*id),
        OrderKind::CreatePipeline(_)
        | OrderKind::ClosePipeline(_)
        | OrderKind::SetOperationalState { .. }
        | OrderKind::DeleteBlocks(_) => None,
    }
}
