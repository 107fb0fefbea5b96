//! Removal of containers whose blocks are all deleted.
//!
//! **Invariant:** a container is deleted only if its required number of replicas are known (for an
//! erasure coded one, one of each index), all CLOSED, all empty, and none older than the newest
//! state ever reported: a replica that lacks writes may be empty only because of that. The orders
//! are sent without `force`, so that a node refuses to delete blocks that SCM does not have. A
//! replica with blocks that is reported later revives the container (see `replica::reconcile`). A
//! container that was never written is deleted when its pipeline does not exist any more, so that
//! no client can write to it, and each of the pipeline's members has reported that it has no
//! replica: an unreachable member may have one full of blocks, even if the record's size is 0
//! ([`Evidence`](super::Evidence)).

use std::collections::BTreeSet;

use proto::hdds::{LifeCycleEvent, LifeCycleState};
use types::ContainerId;

use super::Reported;
use crate::state::change::Change;
use crate::state::container::{Containers, Usage};
use crate::state::decision::Decision;
use crate::state::order::OrderKind;
use crate::state::replica::{ReplicaState, Replicas};
use crate::time::{Millis, elapsed};

/// State that proves that a container is empty, or has no replicas.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cleaning<'a> {
    pub reported: Reported<'a>,
    pub containers: &'a Containers,
    pub in_safe_mode: bool,
}

impl Cleaning<'_> {
    /// Checks CLOSED and DELETING containers: deletes the empty ones, completes the deletion of
    /// those without replicas. `candidates` are those of which an empty replica was reported.
    pub fn clean(&self, candidates: &mut BTreeSet<ContainerId>, now: Millis) -> Decision {
        let mut decision = Decision::default();
        // One with a replica that is not empty is checked again when that is reported as empty.
        candidates.retain(|id| self.may_become_empty(*id));
        for id in candidates.iter().copied() {
            if self.is_empty_everywhere(id) {
                let usage = self.containers.get(id).map(|c| c.usage()).unwrap_or_default();
                decision.changes.push(Change::DeleteEmptied { id, now, usage });
            }
        }
        for id in self.containers.in_state(LifeCycleState::Closing) {
            if self.was_never_written(id, now) {
                let usage = Usage::default();
                for event in [LifeCycleEvent::Close, LifeCycleEvent::Delete] {
                    decision.changes.push(Change::MoveContainer { id, event, now, usage });
                }
            }
        }
        for id in self.containers.in_state(LifeCycleState::Deleting) {
            if self.reported.replicas.of(id).is_empty() {
                if self
                    .containers
                    .get(id)
                    .is_some_and(|c| self.reports_are_in(c.state_enter_ms, now))
                {
                    let event = LifeCycleEvent::Cleanup;
                    let usage = Usage::default();
                    decision.changes.push(Change::MoveContainer { id, event, now, usage });
                }
            } else {
                decision.merge(order_deletion(self.reported.replicas, id));
            }
        }
        decision
    }

    fn may_become_empty(&self, id: ContainerId) -> bool {
        self.containers
            .get(id)
            .is_some_and(|c| !matches!(c.state, LifeCycleState::Deleting | LifeCycleState::Deleted))
            && self.reported.replicas.of(id).iter().all(|r| r.is_empty)
    }

    fn is_empty_everywhere(&self, id: ContainerId) -> bool {
        let Some(container) = self.containers.get(id) else { return false };
        let replicas = self.reported.replicas.of(id);
        container.state == LifeCycleState::Closed
            && self.reported.replicas.different(id, Some(container.config))
                >= container.config.required_nodes() as usize
            && replicas.iter().all(|r| {
                let complete = r.sequence_id >= container.sequence_id;
                r.state == ReplicaState::Closed && complete && r.is_empty && r.keys == 0
            })
    }

    /// A container that was created in advance and not used before its pipeline was removed.
    fn was_never_written(&self, id: ContainerId, now: Millis) -> bool {
        let Some(c) = self.containers.get(id) else { return false };
        c.keys == 0
            && c.used_bytes == 0
            && self.reported.is_without_pipeline(c)
            && self.reports_are_in(c.state_enter_ms, now)
            && self.reported.nobody_can_have(c, now)
    }

    /// After a restart, missing replicas prove nothing until the nodes had time to report.
    fn reports_are_in(&self, entered: Millis, now: Millis) -> bool {
        !self.in_safe_mode
            && elapsed(entered, now) >= self.reported.settings.resend_after.min(2_000)
    }
}

/// Orders to delete every replica of a DELETING container that has no blocks. A node refuses to
/// delete one that has some, and reports it again: the same order would follow for ever.
pub(crate) fn order_deletion(replicas: &Replicas, id: ContainerId) -> Decision {
    let mut decision = Decision::default();
    for replica in replicas.of(id).iter().filter(|replica| replica.keys == 0) {
        let index = replica.replica_index;
        decision.order(replica.node, OrderKind::DeleteContainer { id, index, force: false });
    }
    decision
}
