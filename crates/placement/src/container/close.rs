//! Closing containers: when, and the orders that make the replicas follow.

use proto::hdds::{LifeCycleEvent, LifeCycleState};
use types::{ContainerId, DatanodeId};

use crate::cluster::Cluster;
use crate::state::change::Change;
use crate::state::decision::Decision;
use crate::state::order::OrderKind;
use crate::time::Millis;

impl Cluster {
    /// The container takes no more blocks: it is full, or a node or an operator wants it closed.
    /// Nothing when it is not OPEN.
    pub fn finalize_container(&self, id: ContainerId, now: Millis) -> Decision {
        let mut decision = Decision::default();
        if let Some(c) = self.containers.get(id).filter(|c| c.state == LifeCycleState::Open) {
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
    pub fn order_close(&self, id: ContainerId) -> Decision {
        let mut decision = Decision::default();
        let Some(container) = self.containers.get(id) else { return decision };
        let Some(pipeline) = container.pipeline else { return decision };
        for node in self.holders(id) {
            if self.replicas.on(id, node).is_some_and(|r| r.state.is_final()) {
                continue;
            }
            decision.order(node, OrderKind::CloseContainer { id, pipeline, force: false });
        }
        decision
    }

    /// The nodes that have a replica, or as members of the pipeline may make one.
    pub(crate) fn holders(&self, id: ContainerId) -> Vec<DatanodeId> {
        let mut nodes: Vec<_> = self.replicas.of(id).iter().map(|r| r.node).collect();
        let Some(container) = self.containers.get(id) else { return nodes };
        let written = matches!(container.state, LifeCycleState::Open | LifeCycleState::Closing);
        if let Some(entry) = container.pipeline.and_then(|p| self.pipelines.get(p))
            && written
        {
            for member in &entry.record.members {
                if !nodes.contains(&member.id) {
                    nodes.push(member.id);
                }
            }
        }
        nodes
    }

    fn is_closing(&self, id: ContainerId) -> bool {
        self.containers.get(id).is_some_and(|c| c.state == LifeCycleState::Closing)
    }

    /// What follows at once from a change that was applied: orders that need not wait for the next
    /// round.
    pub fn follow_up(&mut self, change: &Change, now: Millis) -> Decision {
        let mut decision = Decision::default();
        match change {
            Change::AddPipeline(p) => return self.order_creation(p.id, now),
            Change::ClosePipeline { id, .. } => {
                for container in self.containers.of_pipeline(*id) {
                    if self.is_closing(container) {
                        decision.merge(self.order_close(container));
                    }
                }
            }
            Change::MoveContainer { id, event: LifeCycleEvent::Finalize, .. } => {
                return self.order_close(*id);
            }
            // Its pipeline closed meanwhile, so it was born CLOSING.
            Change::AddContainer(c) if self.is_closing(c.id) => return self.order_close(c.id),
            Change::MoveContainer { id, event: LifeCycleEvent::Delete, .. }
            | Change::DeleteEmptied { id, .. } => {
                return self.order_deletion(*id);
            }
            Change::ClearLeftOvers { id, .. } if self.all_are_back(now) => {
                self.clear_left_over(*id, now, &mut decision);
            }
            _ => {}
        }
        decision
    }
}
