//! Replicas of a container are compared, and get from each other what they lack.

use futures::future::BoxFuture;
use proto::container_location::{self as cl, Type};
use proto::hdds;
use types::ContainerId;

use crate::scm::{part, request};
use crate::{Result, ScmClient};

impl ScmClient {
    /// Has the DataNodes with a replica of a container compare them, each with the others', and get
    /// what they lack. It begins; how far it is shows in the checksums of
    /// [`ScmClient::replicas`].
    ///
    /// # Errors
    /// As [`ScmClient::submit`]; SCM says why the replicas cannot be reconciled.
    pub fn reconcile_container(&self, id: ContainerId) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let mut request = request(Type::ReconcileContainer);
            request.reconcile_container_request =
                Some(cl::ReconcileContainerRequestProto { container_id: id.to_wire() });
            let reply = self.submit(&request).await?.reconcile_container_response;
            part(reply, "reconcileContainerResponse").map(drop)
        })
    }

    /// A container, whether or not it has replicas.
    ///
    /// # Errors
    /// As [`ScmClient::submit`]; [`crate::ErrorKind::NotFound`] when there is none.
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
