//! History of a container, from SCM.

use futures::future::BoxFuture;
use proto::container_location::{self as cl, Type};
use types::ContainerId;

use crate::scm::{part, request};
use crate::{Result, ScmClient};

/// Past and pending operations of a container. Both are empty if SCM does not record them.
#[derive(Debug, Clone, Default)]
pub struct ContainerHistory {
    /// Past events, the oldest first.
    pub events: Vec<cl::ContainerEventProto>,
    /// Pending copies and deletions of replicas.
    pub under_way: Vec<String>,
}

impl ScmClient {
    /// The history of a container since the start of SCM's leader.
    ///
    /// # Errors
    /// As [`ScmClient::submit`]; [`crate::ErrorKind::NotFound`] if there is no such container.
    pub fn container_history(&self, id: ContainerId) -> BoxFuture<'_, Result<ContainerHistory>> {
        Box::pin(async move {
            let mut request = request(Type::GetContainerReplicas);
            request.get_container_replicas_request = Some(cl::GetContainerReplicasRequestProto {
                container_id: id.to_wire(),
                trace_id: None,
                with_history: Some(true),
            });
            let reply = self.submit(&request).await?.get_container_replicas_response;
            let reply = part(reply, "getContainerReplicasResponse")?;
            Ok(ContainerHistory { events: reply.event, under_way: reply.under_way })
        })
    }
}
