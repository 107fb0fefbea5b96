//! Point-to-point decommission: the replicas of a node that leaves are sent to one other node, its
//! destination, so that no third node's disks and links are used.
//!
//! The destination is a preference, and replicated: the next leader continues. For exceptions see
//! `replica/pair.rs`.

use std::collections::BTreeMap;

use types::{DatanodeId, OperationalState};

use crate::replica::Replication;
use crate::state::change::Change;
use crate::state::node::{Health, Node};
use crate::state::nodes::Destinations;
use crate::state::replica::Replicas;

/// Requested destination of a node's replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DestinationChoice {
    /// To any nodes.
    Any,
    /// To one node that the rules choose, or to any nodes when none could take all of it.
    Auto,
    /// To this node.
    Node(DatanodeId),
}

/// Reason for which a node cannot be a destination.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DestinationError {
    /// No such node.
    #[error("destination {0} is not known")]
    Unknown(DatanodeId),
    /// It is one of those that leave.
    #[error("{0} leaves, and cannot be the destination")]
    Leaves(String),
    /// It accepts no replicas.
    #[error("destination {node} is {health} and {}, and takes no replicas", .state.to_wire().as_str_name())]
    State {
        /// The destination.
        node: String,
        /// Its health.
        health: Health,
        /// Its state.
        state: OperationalState,
    },
    /// Its disks have not enough room.
    #[error("destination {node} has {room} bytes left, {needed} are needed")]
    Room {
        /// The destination.
        node: String,
        /// Free space of its disks.
        room: u64,
        /// Bytes on the nodes that leave.
        needed: u64,
    },
}

/// Returns the changes that assign destinations to nodes that begin to leave together.
///
/// # Errors
/// When the requested node cannot be the destination.
pub(crate) fn plan_destinations(
    on: &Replication<'_>,
    destinations: &Destinations,
    leaving: &[DatanodeId],
    choice: DestinationChoice,
) -> Result<Vec<Change>, DestinationError> {
    if let DestinationChoice::Node(id) = choice {
        check_destination(on, leaving, id)?;
    }
    let mut taken: Vec<DatanodeId> = destinations.values().copied().collect();
    let mut changes = Vec::new();
    for node in leaving {
        let destination = match choice {
            DestinationChoice::Any => None,
            DestinationChoice::Node(id) => Some(id),
            DestinationChoice::Auto => choose_destination(on, leaving, *node, &taken),
        };
        taken.extend(destination);
        if destinations.get(node).copied() != destination {
            changes.push(Change::SetDestination { node: *node, destination });
        }
    }
    Ok(changes)
}

/// Checks that one node can take all replicas of these nodes.
fn check_destination(
    on: &Replication<'_>,
    leaving: &[DatanodeId],
    id: DatanodeId,
) -> Result<(), DestinationError> {
    let node = on.nodes.get(id).ok_or(DestinationError::Unknown(id))?;
    let name = || node.details.to_string();
    if leaving.contains(&id) {
        return Err(DestinationError::Leaves(name()));
    }
    if !node.accepts_writes() {
        let (health, state) = (node.health, node.details.op_state);
        return Err(DestinationError::State { node: name(), health, state });
    }
    let needed = leaving.iter().map(|n| bytes_on(on.replicas, *n)).fold(0, u64::saturating_add);
    let room = node.room();
    match needed <= room {
        true => Ok(()),
        false => Err(DestinationError::Room { node: name(), room, needed }),
    }
}

/// The least busy node that has room for all and could take most of it: in another rack if
/// possible, not a destination already if possible, then the one that has the fewest of the
/// containers, the fewest copies in flight, and the lowest usage.
fn choose_destination(
    on: &Replication<'_>,
    leaving: &[DatanodeId],
    node: DatanodeId,
    taken: &[DatanodeId],
) -> Option<DatanodeId> {
    let rack = on.nodes.get(node)?.details.network_location.as_str();
    let needed = bytes_on(on.replicas, node);
    let mut count = 0_usize;
    let mut shared: BTreeMap<DatanodeId, usize> = BTreeMap::new();
    for container in on.replicas.on_node(node) {
        count = count.saturating_add(1);
        for replica in on.replicas.of(container) {
            let of_node = shared.entry(replica.node).or_default();
            *of_node = of_node.saturating_add(1);
        }
    }
    let shared = |id| shared.get(&id).copied().unwrap_or(0);
    let fits = |n: &&Node| {
        n.accepts_writes()
            && !leaving.contains(&n.details.id)
            && n.room() >= needed
            && shared(n.details.id) <= count / 2
    };
    let rank = |n: &&Node| {
        let id = n.details.id;
        let same_rack = on.settings.replication.rack_aware && n.details.network_location == rack;
        let work = on.pending.receiving(id).saturating_add(on.pending.sending(id));
        let others = taken.iter().filter(|other| **other == id).count();
        (same_rack, others, shared(id), work, n.used_percent(), id)
    };
    on.nodes.iter().filter(fits).min_by_key(rank).map(|n| n.details.id)
}

fn bytes_on(replicas: &Replicas, node: DatanodeId) -> u64 {
    let bytes = |id| replicas.on(id, node).map_or(0, |replica| replica.used_bytes);
    replicas.on_node(node).map(bytes).fold(0, u64::saturating_add)
}

/// Removes the destination of a node that has left, or does not leave any more.
pub(super) fn forget_destination(destinations: &Destinations, node: DatanodeId) -> Option<Change> {
    destinations.get(&node)?;
    Some(Change::SetDestination { node, destination: None })
}
