//! Checks if the replicas of a container can be compared with each other, and selects the peers of
//! each.
//!
//! A replica gets from the others what it lacks. It must not get what was deleted, so:
//!
//! * nothing is compared while the deletion log still has deletions of the container;
//! * a replica that may have deleted blocks ([`Replica::lags`](crate::Replica)) is no peer.

use proto::hdds::{LifeCycleState, ReplicationType};
use types::{ContainerId, DatanodeId};

use crate::state::container::{Container, Containers};
use crate::state::deletion::DeletionLog;
use crate::state::order::{Order, OrderKind};
use crate::state::replica::{ReplicaState, Replicas};

/// Cause of the orders, in the container's history.
pub(crate) const WHY: &str = "an administrator";

/// Reason for which the replicas of a container are not reconciled. All but the last are Ozone's
/// reasons, in its words and in its order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReconcilable {
    /// There is no such container.
    #[error("Container #{0} not found for reconciliation.")]
    NotFound(ContainerId),
    /// It takes writes, or is deleted.
    #[error("Cannot reconcile container {id} in state {}.", state.as_str_name())]
    ContainerState {
        /// The container.
        id: ContainerId,
        /// Its state.
        state: LifeCycleState,
    },
    /// No replica of it is known.
    #[error("Cannot reconcile container {0} because no replicas could be found.")]
    NoReplicas(ContainerId),
    /// A replica takes writes, or cannot be used.
    #[error(
        "Cannot reconcile container #{id} in state {} with replica states: {}",
        state.as_str_name(),
        names(replicas)
    )]
    ReplicaStates {
        /// The container.
        id: ContainerId,
        /// Its state.
        state: LifeCycleState,
        /// The states of all its replicas.
        replicas: Vec<ReplicaState>,
    },
    /// Its replicas are not copies of each other.
    #[error(
        "Cannot reconcile container #{id} with replication type {}. Reconciliation is currently \
         only supported for Ratis containers.",
        kind.as_str_name()
    )]
    ReplicationType {
        /// The container.
        id: ContainerId,
        /// Its replication type.
        kind: ReplicationType,
    },
    /// There is no other replica to compare with.
    #[error(
        "Cannot reconcile container #{id} with {nodes} required nodes. Reconciliation is only \
         supported for containers with more than 1 required node."
    )]
    RequiredNodes {
        /// The container.
        id: ContainerId,
        /// Its required number of replicas.
        nodes: u32,
    },
    /// A replica that has not deleted a block yet would give it back to one that has.
    #[error(
        "Cannot reconcile container #{id} while the deletion log has deletions of it \
         (transactions: {transactions}): a block that was deleted could come back. Try again \
         when they are done."
    )]
    Deletions {
        /// The container.
        id: ContainerId,
        /// Transactions that wait for a replica.
        transactions: u64,
    },
}

fn names(states: &[ReplicaState]) -> String {
    let names: Vec<_> = states.iter().map(|state| state.to_wire().as_str_name()).collect();
    names.join(", ")
}

/// The container, if its replicas can be reconciled.
///
/// # Errors
/// Why they cannot.
pub(crate) fn reconcilable<'a>(
    containers: &'a Containers,
    replicas: &Replicas,
    deletions: &DeletionLog,
    id: ContainerId,
) -> Result<&'a Container, NotReconcilable> {
    let container = containers.get(id).ok_or(NotReconcilable::NotFound(id))?;
    let state = container.state;
    if !matches!(state, LifeCycleState::Closed | LifeCycleState::QuasiClosed) {
        return Err(NotReconcilable::ContainerState { id, state });
    }
    let replicas: Vec<_> = replicas.of(id).iter().map(|r| r.state).collect();
    if replicas.is_empty() {
        return Err(NotReconcilable::NoReplicas(id));
    }
    if !replicas.iter().all(can_be_compared) {
        return Err(NotReconcilable::ReplicaStates { id, state, replicas });
    }
    let kind = container.config.wire_type();
    if kind != ReplicationType::Ratis {
        return Err(NotReconcilable::ReplicationType { id, kind });
    }
    let nodes = container.config.required_nodes();
    if nodes <= 1 {
        return Err(NotReconcilable::RequiredNodes { id, nodes });
    }
    match deletions.transactions_of(id) {
        0 => Ok(container),
        transactions => Err(NotReconcilable::Deletions { id, transactions }),
    }
}

/// Orders each node with a replica to compare it with those of the others, as an administrator
/// requests. A node that has the only replica notes that in its log.
pub(crate) fn order_reconciliation(replicas: &Replicas, id: ContainerId) -> Vec<Order> {
    let sources = sources(replicas, id);
    let order = |node: DatanodeId| {
        let peers = sources.iter().copied().filter(|source| *source != node).collect();
        Order { node, kind: OrderKind::ReconcileContainer { id, peers } }
    };
    replicas.of(id).iter().map(|r| order(r.node)).collect()
}

/// The nodes from whose replicas the others may get blocks.
pub(crate) fn sources(replicas: &Replicas, id: ContainerId) -> Vec<DatanodeId> {
    let replicas = replicas.of(id).iter();
    replicas.filter(|r| can_be_compared(&r.state) && !r.lags).map(|r| r.node).collect()
}

/// Returns `true` if a replica in that state takes no writes, and may have readable blocks.
fn can_be_compared(state: &ReplicaState) -> bool {
    matches!(state, ReplicaState::Closed | ReplicaState::QuasiClosed | ReplicaState::Unhealthy)
}
