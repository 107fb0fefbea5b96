//! Closing a container on SCM's word.

use std::time::Duration;

use bytes::Bytes;
use container::ContainerState;
use prost::Message;
use proto::datanode::{CloseContainerRequestProto, ContainerCommandRequestProto, Type};
use tokio::time::Instant;
use types::{ContainerId, PipelineId};

use crate::command::{Command, Refusal, write};
use crate::node::Node;
use crate::pipeline::Pipeline;
use crate::storage::{ContainerStore, StorageError};

/// How long a close waits for a quorum, or for a leader, before the replica is closed as it is.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a replica that does not lead looks whether the leader has closed the container.
const LOOK: Duration = Duration::from_millis(100);

impl Node {
    /// Closes a container: through its pipeline, so that all replicas close at the same entry; as
    /// QUASI_CLOSED when the pipeline is gone or has no quorum. With `force` a QUASI_CLOSED replica
    /// becomes CLOSED: SCM has found it to be the best there is.
    pub async fn close_container(
        &self,
        id: ContainerId,
        pipeline: PipelineId,
        force: bool,
    ) -> Result<(), StorageError> {
        let Ok(container) = self.store.container(id) else {
            // Nothing was ever written here; SCM is told that there is no replica.
            self.news.container_changed(id);
            return Ok(());
        };
        let state = container.info().state;
        if force && state == ContainerState::QuasiClosed {
            self.change_container(id, |store, id| store.close(id, None)).await?;
        } else if matches!(state, ContainerState::Open | ContainerState::Closing) {
            self.change_container(id, ContainerStore::mark_closing).await?;
            self.news.container_changed(id);
            let owner = container.info().pipeline.unwrap_or(pipeline);
            match self.pipelines.get(owner) {
                Some(pipeline) => self.close_through(id, &pipeline).await?,
                None => self.change_container(id, ContainerStore::quasi_close).await?,
            }
        }
        self.news.container_changed(id);
        Ok(())
    }

    async fn close_through(
        &self,
        id: ContainerId,
        pipeline: &Pipeline,
    ) -> Result<(), StorageError> {
        let deadline = Instant::now() + PATIENCE;
        while self.is_closing(id) && Instant::now() < deadline {
            if self.pipelines.get(pipeline.id).is_none() {
                break;
            }
            if !pipeline.group.is_leader() {
                tokio::time::sleep(LOOK).await;
                continue;
            }
            match write::through(self, pipeline, close_command(id, pipeline.id, deadline)).await {
                Ok(_) => {}
                Err(refusal @ Refusal::Failed { .. }) => {
                    tracing::warn!(container = %id, %refusal, "cannot close through the pipeline");
                    break;
                }
                Err(refusal) => {
                    tracing::debug!(container = %id, %refusal, "closing is tried again");
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
        if self.is_closing(id) {
            tracing::warn!(container = %id, pipeline = %pipeline.id, "no quorum closed the container");
            self.change_container(id, ContainerStore::quasi_close).await?;
        }
        Ok(())
    }

    /// Changes a container's state, not on a thread that serves requests: before a container is closed its disk is
    /// flushed, and requests and heartbeats would wait for that.
    pub(crate) async fn change_container(
        &self,
        id: ContainerId,
        change: impl FnOnce(&ContainerStore, ContainerId) -> Result<(), StorageError> + Send + 'static,
    ) -> Result<(), StorageError> {
        let (store, container) = (self.store.clone(), self.store.container(id)?);
        let changed = tokio::task::spawn_blocking(move || change(&store, id)).await;
        changed.map_err(|error| StorageError::disk(container.path(), error))?
    }

    fn is_closing(&self, id: ContainerId) -> bool {
        self.store
            .container(id)
            .is_ok_and(|container| container.info().state == ContainerState::Closing)
    }
}

fn close_command(id: ContainerId, pipeline: PipelineId, deadline: Instant) -> Command {
    let request = ContainerCommandRequestProto {
        cmd_type: Type::CloseContainer as i32,
        container_id: id.to_wire(),
        pipeline_id: Some(pipeline.to_string()),
        close_container: Some(CloseContainerRequestProto {}),
        ..Default::default()
    };
    let header = Bytes::from(request.encode_to_vec());
    let deadline = Some(deadline.into_std());
    Command { header, request, payload: Bytes::new(), deadline }
}
