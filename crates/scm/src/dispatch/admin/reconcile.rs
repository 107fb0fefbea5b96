//! Replicas of a container that may differ are compared, and get from each other what they lack.

use proto::container_location::{ReconcileContainerRequestProto, ReconcileContainerResponseProto};
use types::ContainerId;

use crate::core::Core;
use crate::error::RequestError;

/// ReconcileContainer: orders each node with a replica to compare it with the others. The result
/// shows in the checksums that the nodes report.
pub fn reconcile(
    core: &Core,
    r: &ReconcileContainerRequestProto,
) -> Result<ReconcileContainerResponseProto, RequestError> {
    let id = ContainerId::from_wire(r.container_id);
    let orders = core.cluster().order_reconciliation(id, core.clock.now())?;
    tracing::info!(container = %id, nodes = orders.len(), "reconciling replicas");
    core.commands.push(orders);
    Ok(ReconcileContainerResponseProto {})
}
