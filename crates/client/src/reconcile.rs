//! Reconciliation of the replicas of a container.

use futures::future::BoxFuture;
use proto::container_location::{self as cl, Type};
use proto::hdds;
use types::ContainerId;

use crate::scm::{part, request};
use crate::{Result, ScmClient};

impl ScmClient {
    /// Starts the reconciliation of a container: DataNodes with a replica compare it with the
    /// others and copy missing data. The checksums of [`ScmClient::replicas`] show the progress.
    ///
    /// # Errors
    /// As [`ScmClient::submit`]; SCM returns the reason if the replicas cannot be reconciled.
    pub fn reconcile_container(&self, id: ContainerId) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let mut request = request(Type::ReconcileContainer);
            request.reconcile_container_request =
                Some(cl::ReconcileContainerRequestProto { container_id: id.to_wire() });
            let reply = self.submit(&request).await?.reconcile_container_response;
            part(reply, "reconcileContainerResponse").map(drop)
        })
    }

    /// A container, with or without replicas.
    ///
    /// # Errors
    /// As [`ScmClient::submit`]; [`crate::ErrorKind::NotFound`] if there is none.
    pub fn container_record(
        &self,
        id: ContainerId,
    ) -> BoxFuture<'_, Result<hdds::ContainerInfoProto>> {
        Box::pin(async move {
            let mut request = request(Type::GetContainer);
            request.get_container_request =
                Some(cl::GetContainerRequestProto { container_id: id.to_wire(), trace_id: None });
            let reply = self.submit(&request).await?.get_container_response;
            Ok(part(reply, "getContainerResponse")?.container_info)
        })
    }
}
