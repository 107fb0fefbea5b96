//! Leftover replicas of erasure coded containers that are deleted: a node was down while the others
//! were emptied and deleted, and is back with blocks. They are too few to read any.
//!
//! Each acknowledged block is on the nodes of all indexes, and a node never recreates a replica
//! that was deleted: so no block was acknowledged since. In addition:
//!
//! **Invariant:** leftovers are deleted only of a container of which one replica of each index was
//! reported CLOSED and empty ([`Evidence::emptied`](crate::Evidence)); and never more of its
//! indexes than the code can recover, summed over all batches in which its nodes come back and over
//! all leaders. So even if the evidence was wrong, it can be read when all are back. Deletions are
//! recorded before they are ordered. None is ordered while a known node is not HEALTHY, has sent no
//! recent heartbeat, or has not reported its replicas to this leader. A container whose blocks can
//! be read is revived instead (`replica::reconcile`).

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

/// State that determines if leftovers of a deleted container may be deleted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeftOvers<'a> {
    pub settings: &'a Settings,
    pub nodes: &'a Nodes,
    pub containers: &'a Containers,
    pub replicas: &'a Replicas,
    /// Time of the first check of all nodes.
    pub watched_since: Option<Millis>,
}

impl LeftOvers<'_> {
    /// Orders the deletion of leftovers of deleted containers, once all nodes had time to come
    /// back.
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
        // One that reports an index outside of the group may be any.
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

    /// Returns `true` if all nodes are reachable, and others had time to register.
    pub fn all_are_back(&self, now: Millis) -> bool {
        let waited = |since| elapsed(since, now) >= self.settings.dead_after;
        self.watched_since.is_some_and(waited)
            && self.nodes.iter().all(|node| node.is_heard(Some(now), self.settings.stale_after))
    }
}

/// A node has reported a replica: leftovers of a deleted container are checked later.
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
