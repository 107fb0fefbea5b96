//! Texts for the events of a container. Part of the response to GetContainerReplicas.

use placement::replica::pending::{Pending, Task};
use placement::{Cluster, Event, Happened, Millis, Order, OrderKind, ReplicaState};
use proto::container_location::ContainerEventProto;
use types::{ContainerId, DatanodeId};

/// Events of a container since this SCM started, the oldest first.
pub(super) fn events(cluster: &Cluster, id: ContainerId) -> Vec<ContainerEventProto> {
    let event = |happened: &Happened| ContainerEventProto {
        first: happened.first,
        last: happened.last,
        times: happened.times,
        text: words(cluster, &happened.event),
    };
    cluster.histories.of(id).map(event).collect()
}

/// Pending copies and deletions of a container's replicas, and the nodes that have not reported yet
/// if they have one.
pub(super) fn under_way(cluster: &Cluster, id: ContainerId, now: Millis) -> Vec<String> {
    let one = |pending: &Pending| {
        let to = name(cluster, pending.node);
        match pending.task {
            Task::Copy { source, index } => {
                let from = name(cluster, source);
                format!("{to} gets a copy{} from {from}", of_index(index))
            }
            Task::Reconstruct { coordinator, index, .. } => {
                let by = name(cluster, coordinator);
                format!("{to} gets a replica{} that {by} reconstructs", of_index(index))
            }
            Task::Relocate { .. } => format!("{to} moves its replica to another of its disks"),
            Task::Reconcile { .. } => {
                format!("{to} reconciles its damaged replica with those of other nodes")
            }
            Task::Delete => format!("{to} deletes its replica"),
        }
    };
    let pending = cluster.pending.of(id).iter().map(one);
    let silent = cluster.silent_members(id, now).into_iter();
    let silent = silent.map(|node| {
        let health = match cluster.nodes.get(node) {
            Some(node) => node.health.to_string(),
            None => "not registered".to_owned(),
        };
        let name = name(cluster, node);
        format!("{name} ({health}), a member of its former pipeline, reports its replica")
    });
    pending.chain(silent).collect()
}

fn words(cluster: &Cluster, event: &Event) -> String {
    let name = |node: &DatanodeId| name(cluster, *node);
    match event {
        Event::Created { pipeline: Some(pipeline) } => format!("created in pipeline {pipeline}"),
        Event::Created { pipeline: None } => "created".to_owned(),
        Event::Entered(state) => format!("is {}", state.as_str_name()),
        Event::Revived(state) => {
            let state = state.as_str_name();
            format!("is {state} again: a node reported a replica with blocks")
        }
        Event::Appeared { node, index, state, awaited } => {
            let (node, of, state) = (name(node), of_index(*index), wire_name(*state));
            let ordered = if *awaited { ", as ordered" } else { "" };
            format!("{node} has a {state} replica{of}{ordered}")
        }
        Event::Changed { node, was, state } => {
            let node = name(node);
            format!("the replica of {node} is {}, was {}", wire_name(*state), wire_name(*was))
        }
        Event::Gone { node } => format!("{} has no replica any more", name(node)),
        Event::Lost { node } => format!("{} is dead: its replica does not count", name(node)),
        Event::Ordered { order, why } => format!("{}: {why}", ordered(cluster, order)),
        Event::Failed { node } => format!("the replica on {} could not be created", name(node)),
        Event::Late { node } => format!("the order to {} timed out", name(node)),
    }
}

fn ordered(cluster: &Cluster, order: &Order) -> String {
    let node = name(cluster, order.node);
    match &order.kind {
        OrderKind::CloseContainer { force: false, .. } => {
            format!("ordered {node} to close its replica")
        }
        OrderKind::CloseContainer { force: true, .. } => {
            format!("ordered {node} to close its replica, even if it is QUASI_CLOSED")
        }
        OrderKind::DeleteContainer { force: false, .. } => {
            format!("ordered {node} to delete its replica if it has no blocks")
        }
        OrderKind::DeleteContainer { force: true, .. } => {
            format!("ordered {node} to delete its replica")
        }
        OrderKind::ReplicateContainer { target, .. } if *target == order.node => {
            format!("ordered {node} to move its replica to another of its disks")
        }
        OrderKind::ReplicateContainer { target, .. } => {
            format!("ordered {node} to send its replica to {}", name(cluster, *target))
        }
        OrderKind::ReconstructEcContainer { sources, targets, .. } => {
            let list = |nodes: &[(DatanodeId, u32)]| {
                let one = |(node, index): &(DatanodeId, u32)| {
                    format!("{} (index {index})", name(cluster, *node))
                };
                nodes.iter().map(one).collect::<Vec<_>>().join(", ")
            };
            let (sources, targets) = (list(sources), list(targets));
            format!("ordered {node} to reconstruct {targets} from {sources}")
        }
        OrderKind::ReconcileContainer { peers, .. } if peers.is_empty() => {
            format!("ordered {node} to reconcile its replica without peers")
        }
        OrderKind::ReconcileContainer { peers, .. } => {
            let peers: Vec<_> = peers.iter().map(|peer| name(cluster, *peer)).collect();
            format!("ordered {node} to reconcile its replica with {}", peers.join(", "))
        }
        // They are not about a container.
        kind => format!("ordered {node}: {kind:?}"),
    }
}

fn wire_name(state: ReplicaState) -> &'static str {
    state.to_wire().as_str_name()
}

fn of_index(index: u32) -> String {
    match index {
        0 => String::new(),
        index => format!(" of index {index}"),
    }
}

/// A node's host name; its id when it is not registered.
fn name(cluster: &Cluster, node: DatanodeId) -> String {
    cluster.nodes.get(node).map_or_else(|| node.to_string(), |node| node.details.host.clone())
}
