//! Progress of a node that leaves: bytes, their rate, the remaining time, and the obstacle.

use std::fmt;

use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId, PipelineId};

use super::leave::{Obstacles, obstacles};
use crate::replica::Replication;
use crate::replica::refuses::Refuses;
use crate::state::container::{Container, Containers};
use crate::time::Millis;

/// Progress of a node that leaves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeavingProgress {
    /// Bytes of its containers that are enough elsewhere.
    pub bytes_done: u64,
    /// Bytes of those that are not.
    pub bytes_left: u64,
    /// Recent rate in bytes per second; `None` if it is not known yet.
    pub bytes_per_second: Option<u64>,
    /// Remaining time at that rate; `None` if it is unknown.
    pub left: Option<Millis>,
    /// The first obstacle; `None` when nothing is left.
    pub blocked_by: Option<Blocked>,
}

/// Obstacle of a node that leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocked {
    /// A pipeline that is not closed.
    Pipeline(PipelineId),
    /// A container that is not closed.
    Unclosed(ContainerId, LifeCycleState),
    /// A container that is being copied to other nodes.
    Copying(ContainerId, Vec<DatanodeId>),
    /// A container that no node can take, and why each of the others cannot.
    NoTarget(ContainerId, Refused),
    /// A container that no node can send now: those that have it send as much as they may, or are
    /// not HEALTHY.
    NoSource(ContainerId),
    /// A container that is copied when others are done: as much is copied as may be.
    Queued(ContainerId),
}

/// Nodes that cannot take a container, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Refused {
    /// They have a replica, or are getting or deleting one.
    pub has_it: usize,
    /// They are not HEALTHY, or not in service.
    pub not_in_service: usize,
    /// No disk of theirs has room for it.
    pub no_room: usize,
    /// They receive as many copies as they may.
    pub busy: usize,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            (self.has_it, "have it already"),
            (self.not_in_service, "are not HEALTHY and IN_SERVICE"),
            (self.no_room, "have no room for it"),
            (self.busy, "receive as many as they may"),
        ];
        let mut parts = all.into_iter().filter(|(count, _)| *count > 0);
        let Some((count, why)) = parts.next() else { return write!(f, "there is no other node") };
        write!(f, "{count} {why}")?;
        parts.try_for_each(|(count, why)| write!(f, ", {count} {why}"))
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pipeline(id) => write!(f, "pipeline {id} is not closed"),
            Self::Unclosed(id, state) => {
                write!(f, "container {id} is {} and has to close", state.as_str_name())
            }
            Self::Copying(id, nodes) => {
                write!(f, "container {id} is being copied to")?;
                nodes.iter().try_for_each(|node| write!(f, " {node}"))
            }
            Self::NoTarget(id, refused) => write!(f, "no node can take container {id}: {refused}"),
            Self::NoSource(id) => {
                write!(f, "no node that has container {id} can send it now")
            }
            Self::Queued(id) => write!(f, "container {id} is queued for copying"),
        }
    }
}

/// Returns the progress of a node that leaves.
pub(crate) fn leaving_progress(
    on: &Replication<'_>,
    containers: &Containers,
    id: DatanodeId,
) -> LeavingProgress {
    let obstacles = obstacles(on, containers, id);
    let rate = on.nodes.get(id).and_then(|node| node.left_bytes.rate());
    let left = match (obstacles.bytes_left, rate) {
        (0, _) => obstacles.is_none().then_some(0),
        (bytes, Some(rate)) => bytes.saturating_mul(1_000).checked_div(rate),
        (_, None) => None,
    };
    LeavingProgress {
        bytes_done: obstacles.bytes_done,
        bytes_left: obstacles.bytes_left,
        bytes_per_second: rate,
        left,
        blocked_by: blocked_by(on, containers, &obstacles),
    }
}

/// The first obstacle. Those that need an operator come before those in progress.
fn blocked_by(
    on: &Replication<'_>,
    containers: &Containers,
    obstacles: &Obstacles,
) -> Option<Blocked> {
    if let Some(id) = obstacles.pipelines.first() {
        return Some(Blocked::Pipeline(*id));
    }
    let waiting = || {
        let ids = obstacles.under_replicated.iter();
        ids.filter_map(move |id| Some(blocks(on, containers.get(*id)?)))
    };
    let is_stuck = |blocked: &Blocked| matches!(blocked, Blocked::NoTarget(..));
    if let Some(blocked) = waiting().find(is_stuck) {
        return Some(blocked);
    }
    if let Some(id) = obstacles.unclosed.first() {
        let state = containers.get(*id)?.state;
        return Some(Blocked::Unclosed(*id, state));
    }
    waiting().next()
}

/// Reason for which a container has too few replicas elsewhere.
fn blocks(on: &Replication<'_>, c: &Container) -> Blocked {
    let coming = on.pending.of(c.id).iter().filter(|p| p.task.comes().is_some());
    let coming: Vec<_> = coming.map(|pending| pending.node).collect();
    if !coming.is_empty() {
        return Blocked::Copying(c.id, coming);
    }
    let mut refused = Refused::default();
    let mut any = false;
    for node in on.nodes.iter() {
        let count = match on.refuses(c, node) {
            None => {
                any = true;
                break;
            }
            Some(Refuses::HasIt) => &mut refused.has_it,
            Some(Refuses::NotInService) => &mut refused.not_in_service,
            Some(Refuses::NoRoom) => &mut refused.no_room,
            // Those of its pipeline may get it later.
            Some(Refuses::Busy | Refuses::ItsPipeline) => &mut refused.busy,
        };
        *count = count.saturating_add(1);
    }
    match any {
        false if refused.busy > 0 => Blocked::Queued(c.id),
        false => Blocked::NoTarget(c.id, refused),
        true if on.replicas.of(c.id).iter().any(|r| on.may_send(r.node)) => Blocked::Queued(c.id),
        true => Blocked::NoSource(c.id),
    }
}
