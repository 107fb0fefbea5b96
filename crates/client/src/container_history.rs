//! What SCM knows of a container's past.

use futures::future::BoxFuture;
use proto::container_location::{self as cl, Type};
use types::ContainerId;

use crate::scm::{part, request};
use crate::{Result, ScmClient};

/// What happened to a container, and what is under way. An SCM that does not keep it answers
/// nothing of both.
#[derive(Debug, Clone, Default)]
pub struct ContainerHistory {
    /// What happened, the oldest first.
    pub events: Vec<cl::ContainerEventProto>,
    /// Copies and deletions of replicas that are waited for.
    pub under_way: Vec<String>,
}

impl ScmClient {
    /// What happened to a container since the leader of SCM started.
    ///
    /// # Errors
    /// As [`ScmClient::submit`]; [`crate::ErrorKind::NotFound`] when there is no such container.
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
