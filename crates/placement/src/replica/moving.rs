//! Replicas that move from one node to another.
//!
//! A move is a copy to the target, as any other ([`pending`](super::pending)), and a preference:
//! while it is in flight, the replica of the source is the one to delete of a surplus (`repair.rs`,
//! `ec_delete.rs`), under the conditions of every deletion. At worst, a move that is forgotten
//! leaves a surplus replica.

use std::collections::BTreeMap;

use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId, StorageType};

use super::order::Repair;
use crate::state::container::Containers;
use crate::state::order::Order;
use crate::state::pending::PendingTasks;
use crate::state::replica::{ReplicaState, Replicas};
use crate::time::Millis;

/// A replica that moves from one node to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// Its container.
    pub id: ContainerId,
    /// Its current node.
    pub source: DatanodeId,
    /// Its new node.
    pub target: DatanodeId,
    /// Its bytes.
    pub bytes: u64,
    /// The type of the disks that it moves between.
    pub storage_type: StorageType,
    /// Timeout of the move.
    pub until: Millis,
    /// True if the target has it.
    pub copied: bool,
}

/// Result of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveResult {
    /// The target has it, the source does not.
    Completed,
    /// It could not be copied, or the container's state has changed.
    Failed,
    /// It took too long.
    TimedOut,
}

/// The moves in flight, one per container.
#[derive(Debug, Default)]
pub struct Moves {
    moves: BTreeMap<ContainerId, Move>,
}

impl Moves {
    /// The move of a container.
    pub fn of(&self, id: ContainerId) -> Option<&Move> {
        self.moves.get(&id)
    }

    /// All of them, by container.
    pub fn iter(&self) -> impl Iterator<Item = &Move> {
        self.moves.values()
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty()
    }

    /// Forgets all moves, after a change of leader or a stop of the balancer: copies are surplus
    /// replicas.
    pub fn clear(&mut self) {
        self.moves.clear();
    }

    /// The one of these nodes that deletes its replica, because it was moved to another one of
    /// them.
    pub(super) fn moved_from(&self, id: ContainerId, nodes: &[DatanodeId]) -> Option<DatanodeId> {
        let moved = self.moves.get(&id)?;
        let both = nodes.contains(&moved.source) && nodes.contains(&moved.target);
        both.then_some(moved.source)
    }

    /// Begins to move a replica; does nothing if the source has none.
    pub(crate) fn start(
        &mut self,
        replicas: &Replicas,
        pending: &mut PendingTasks,
        id: ContainerId,
        (source, target): (DatanodeId, DatanodeId),
        copy_until: Millis,
        until: Millis,
    ) -> Option<Order> {
        let replica = replicas.on(id, source)?;
        let (bytes, index) = (replica.used_bytes, replica.replica_index);
        let storage_type = replica.storage_type;
        let repair = Repair::copy(id, (source, index), target, copy_until);
        repair.tasks.into_iter().for_each(|task| pending.add(id, task));
        let moved = Move { id, source, target, bytes, storage_type, until, copied: false };
        self.moves.insert(id, moved);
        Some(repair.order)
    }

    /// The moves that ended since the last call.
    pub(crate) fn review(
        &mut self,
        containers: &Containers,
        replicas: &Replicas,
        pending: &PendingTasks,
        now: Millis,
    ) -> Vec<(Move, MoveResult)> {
        let mut ended = Vec::new();
        let ids: Vec<ContainerId> = self.moves.keys().copied().collect();
        for id in ids {
            let Some(mut moved) = self.of(id).copied() else { continue };
            match result_of(containers, replicas, pending, &mut moved, now) {
                Some(result) => {
                    self.moves.remove(&id);
                    ended.push((moved, result));
                }
                None => {
                    self.moves.insert(id, moved);
                }
            }
        }
        ended
    }
}

fn result_of(
    containers: &Containers,
    replicas: &Replicas,
    pending: &PendingTasks,
    moved: &mut Move,
    now: Millis,
) -> Option<MoveResult> {
    let (id, source, target) = (moved.id, moved.source, moved.target);
    let state = containers.get(id).map(|c| c.state);
    if !matches!(state, Some(LifeCycleState::Closed | LifeCycleState::QuasiClosed)) {
        return Some(MoveResult::Failed);
    }
    let is_good = |state| matches!(state, ReplicaState::Closed | ReplicaState::QuasiClosed);
    let arrived = replicas.on(id, target).is_some_and(|r| is_good(r.state));
    if arrived && replicas.on(id, source).is_none() {
        return Some(MoveResult::Completed);
    }
    if now >= moved.until {
        return Some(MoveResult::TimedOut);
    }
    let comes = pending.of(id).iter().any(|p| p.node == target && p.task.comes().is_some());
    moved.copied |= arrived;
    (!arrived && !comes).then_some(MoveResult::Failed)
}
