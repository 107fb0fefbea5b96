//! What is noted in the histories of containers.

use types::{ContainerId, DatanodeId};

use crate::cluster::Cluster;
use crate::state::history::Event;
use crate::state::order::{Order, OrderKind};
use crate::state::replica::Replica;
use crate::time::Millis;

impl Cluster {
    /// Notes orders about single containers, that are sent because of what their containers are.
    pub fn note_orders(&mut self, orders: &[Order], now: Millis) {
        for order in orders {
            if let Some(id) = container_of(&order.kind) {
                self.note_order(id, order, None, now);
            }
        }
    }

    /// The same for one that is sent for another reason than the container's state.
    pub(crate) fn note_order(
        &mut self,
        id: ContainerId,
        order: &Order,
        why: Option<&'static str>,
        now: Millis,
    ) {
        let Some(container) = self.containers.get(id) else { return };
        let why = why.unwrap_or_else(|| container.state.as_str_name());
        self.histories.note(id, now, Event::Ordered { order: order.clone(), why });
    }

    /// Notes what a node reports of a container's replica, as far as that is new.
    pub(crate) fn note_replica(
        &mut self,
        id: ContainerId,
        replica: &Replica,
        awaited: bool,
        now: Millis,
    ) {
        // While SCM learns what there is, that says nothing.
        if self.safe_mode.is_on() || self.containers.get(id).is_none() {
            return;
        }
        let Replica { node, state, replica_index: index, .. } = *replica;
        let event = match self.replicas.on(id, node).map(|replica| replica.state) {
            None => Event::Appeared { node, index, state, awaited },
            Some(was) if was != state => Event::Changed { node, was, state },
            Some(_) => return,
        };
        self.histories.note(id, now, event);
    }

    /// Notes that a node has no replica of a container, if it had one.
    pub(crate) fn note_gone(&mut self, id: ContainerId, node: DatanodeId, now: Millis) {
        if self.containers.get(id).is_some() && self.replicas.on(id, node).is_some() {
            self.histories.note(id, now, Event::Gone { node });
        }
    }

    /// Forgets the replicas of a node that is dead.
    pub(crate) fn forget_replicas_of(&mut self, node: DatanodeId, now: Millis) {
        let ids: Vec<_> = self.replicas.on_node(node).collect();
        for id in &ids {
            self.histories.note(*id, now, Event::Lost { node });
        }
        self.end_backoff(ids);
        self.replicas.forget_node(node);
    }

    /// A replica that was to come to `target` does not, as the node that was told says.
    pub fn copy_failed(&mut self, id: ContainerId, target: DatanodeId, now: Millis) {
        if self.pending.failed(id, target) {
            self.histories.note(id, now, Event::Failed { node: target });
            self.back_off(id, now);
        }
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
