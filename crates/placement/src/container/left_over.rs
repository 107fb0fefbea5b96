//! What is left of erasure coded containers that are deleted: a node was away while the others were
//! emptied and deleted, and is back with blocks. They are too few to read any.
//!
//! Each block that was acknowledged is on the nodes of all indexes, and a node that had a replica
//! which was deleted begins none anew: nobody has had a block acknowledged since. Besides that:
//!
//! **Invariant:** what goes is left of a container of which one replica of each index was seen
//! CLOSED and empty ([`Evidence::emptied`](crate::Evidence)); and no more indexes of it ever go, in
//! sum over all portions in which its nodes come back and all SCMs that lead, than the code can
//! make up for. So even if that was a mistake it can be read when all are back. What went is in the
//! record before it is ordered. None goes while a node is known that is not HEALTHY, was not heard
//! of lately, or has not told this leader what it has. A container whose blocks can be read is
//! revived instead (`replica::reconcile`).

use std::collections::BTreeSet;

use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId};

use crate::settings::Settings;
use crate::state::change::Change;
use crate::state::container::Containers;
use crate::state::decision::Decision;
use crate::state::nodes::Nodes;
use crate::state::order::OrderKind;
use crate::state::replica::{Replica, Replicas};
use crate::time::{Millis, elapsed};

/// What says whether what is left of a deleted container may go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeftOvers<'a> {
    pub settings: &'a Settings,
    pub nodes: &'a Nodes,
    pub containers: &'a Containers,
    pub replicas: &'a Replicas,
    /// When nodes were first looked at.
    pub watched_since: Option<Millis>,
}

impl LeftOvers<'_> {
    /// Has replicas deleted that are left of containers that are deleted, once all nodes had time
    /// to come back.
    pub fn clear_all(&self, known: &mut BTreeSet<ContainerId>, now: Millis) -> Decision {
        let mut decision = Decision::default();
        known.retain(|id| {
            is_deleted(self.containers, *id) && self.with_blocks(*id).next().is_some()
        });
        if self.all_are_back(now) {
            for id in known.iter().copied() {
                self.clear(id, now, &mut decision);
            }
        }
        decision
    }

    /// Has these replicas deleted once it is in the record that their indexes go.
    pub fn clear(&self, id: ContainerId, now: Millis, decision: &mut Decision) {
        let Some(container) = self.containers.get(id) else { return };
        let Some(most) = container.most_cleared() else { return };
        let is_of_late = elapsed(container.state_enter_ms, now) < self.settings.dead_after;
        let all_closed = self.with_blocks(id).all(|r| r.state.is_final());
        if !is_deleted(self.containers, id)
            || !container.evidence.emptied
            || is_of_late
            || !all_closed
        {
            return;
        }
        let cleared = &container.evidence.cleared;
        let indexes: BTreeSet<u32> = self.with_blocks(id).map(|r| r.replica_index).collect();
        // One that says none of the group's may be any.
        let are_known = indexes.iter().all(|i| (1..=container.config.required_nodes()).contains(i));
        if !are_known || indexes.union(cleared).count() > most {
            return;
        }
        if !indexes.is_subset(cleared) {
            let indexes = indexes.into_iter().collect();
            decision.changes.push(Change::ClearLeftOvers { id, indexes });
            return;
        }
        for replica in self.with_blocks(id) {
            let index = replica.replica_index;
            decision.order(replica.node, OrderKind::DeleteContainer { id, index, force: true });
        }
    }

    fn with_blocks(&self, id: ContainerId) -> impl Iterator<Item = &Replica> {
        self.replicas.of(id).iter().filter(|r| r.keys > 0)
    }

    /// Whether all nodes are sure to be there, and others had time to register.
    pub fn all_are_back(&self, now: Millis) -> bool {
        let waited = |since| elapsed(since, now) >= self.settings.dead_after;
        self.watched_since.is_some_and(waited)
            && self.nodes.iter().all(|node| node.is_heard(Some(now), self.settings.stale_after))
    }
}

/// A node has reported a replica: what is left of a deleted container is looked at later.
pub(crate) fn note(
    replicas: &mut Replicas,
    containers: &Containers,
    id: ContainerId,
    node: DatanodeId,
) {
    let has_blocks = replicas.on(id, node).is_some_and(|r| r.keys > 0);
    if has_blocks && is_deleted(containers, id) {
        replicas.left_over.insert(id);
    }
}

/// An erasure coded container that was thought empty.
fn is_deleted(containers: &Containers, id: ContainerId) -> bool {
    containers.get(id).is_some_and(|c| {
        c.config.is_ec() && matches!(c.state, LifeCycleState::Deleting | LifeCycleState::Deleted)
    })
}
