//! Replicas of a container that may differ are compared, and get from each other what they lack.

use proto::container_location::{ReconcileContainerRequestProto, ReconcileContainerResponseProto};
use types::ContainerId;

use crate::core::Core;
use crate::error::RequestError;

/// ReconcileContainer: each node with a replica is told to compare it with those of the others.
/// What comes of it shows in the checksums that they report.
pub fn reconcile(
    core: &Core,
    r: &ReconcileContainerRequestProto,
) -> Result<ReconcileContainerResponseProto, RequestError> {
    let id = ContainerId::from_wire(r.container_id);
    let orders = core.cluster().order_reconciliation(id, core.clock.now())?;
    tracing::info!(container = %id, nodes = orders.len(), "replicas are reconciled");
    core.commands.push(orders);
    Ok(ReconcileContainerResponseProto {})
}
