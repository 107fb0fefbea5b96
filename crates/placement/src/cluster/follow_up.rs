//! Immediate consequences of an applied change.

use proto::hdds::{LifeCycleEvent, LifeCycleState};
use types::ContainerId;

use super::Cluster;
use crate::container::clean::order_deletion;
use crate::container::close::order_close;
use crate::state::change::Change;
use crate::state::decision::Decision;
use crate::time::Millis;

impl Cluster {
    /// Immediate consequences of an applied change: orders that need not wait for the next round.
    pub fn follow_up(&mut self, change: &Change, now: Millis) -> Decision {
        let mut decision = Decision::default();
        match change {
            Change::AddPipeline(p) => return self.order_creation(p.id, now),
            Change::ClosePipeline { id, .. } => {
                for container in self.containers.of_pipeline(*id) {
                    if self.is_closing(container) {
                        decision.merge(order_close(self.holders(), container));
                    }
                }
            }
            Change::MoveContainer { id, event: LifeCycleEvent::Finalize, .. } => {
                return order_close(self.holders(), *id);
            }
            // Its pipeline closed meanwhile, so it was born CLOSING.
            Change::AddContainer(c) if self.is_closing(c.id) => {
                return order_close(self.holders(), c.id);
            }
            Change::MoveContainer { id, event: LifeCycleEvent::Delete, .. }
            | Change::DeleteEmptied { id, .. } => {
                return order_deletion(&self.replicas, *id);
            }
            Change::ClearLeftOvers { id, .. } if self.left_overs().all_are_back(now) => {
                self.left_overs().clear(*id, now, &mut decision);
            }
            _ => {}
        }
        decision
    }

    fn is_closing(&self, id: ContainerId) -> bool {
        self.containers.get(id).is_some_and(|c| c.state == LifeCycleState::Closing)
    }
}
