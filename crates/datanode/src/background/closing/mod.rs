//! Closing containers.
//!
//! A replica closes at one entry of its pipeline's log (CLOSED), so that all replicas have the same
//! contents. It closes in its present state (QUASI_CLOSED) only without its group, which then takes
//! no part in any decision any more: **never while its group exists**, because the others count on
//! its confirmations.
//!
//! The leader closes a container when SCM orders it, when another member forwards that order, when
//! the container is full, or when no SCM has responded for so long that SCM is closing the
//! containers of this node elsewhere.

mod service;

use std::time::Duration;

use bytes::Bytes;
use container::ContainerState;
use framed::{CallError, Client, ClientOptions};
use prost::Message;
use proto::datanode::{
    CloseContainerRequestProto, ContainerCommandRequestProto, ContainerCommandResponseProto, Type,
};
use tokio::time::Instant;
use types::{ContainerId, PipelineId};
use uuid::Uuid;

pub(crate) use service::Closing;

use crate::command::{Command, Refusal};
use crate::dispatch::write;
use crate::node::Node;
use crate::pipeline::Pipeline;
use containerstore::{ContainerStore, StorageError};

/// Timeout of the group's agreement on SCM's order to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval at which a replica checks whether the container is closed.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Interval at which a follower asks the leader to close the container.
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout of the leader's response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Errors of the leader that was asked to close a container.
#[derive(Debug, thiserror::Error)]
enum LeaderCloseError {
    #[error("no leader is known")]
    NoLeader,
    #[error(transparent)]
    Call(#[from] CallError),
}

impl Node {
    /// Carries out SCM's order to close a container: through its pipeline, so that all replicas
    /// close at the same entry; as QUASI_CLOSED if the pipeline's group no longer exists. With
    /// `force` a QUASI_CLOSED replica becomes CLOSED: SCM found it to be the best replica.
    ///
    /// # Errors
    /// When the state of the container forbids it, or the disk fails.
    pub async fn close_container(
        &self,
        id: ContainerId,
        pipeline: PipelineId,
        force: bool,
    ) -> Result<(), StorageError> {
        let Ok(container) = self.store.container(id) else {
            // No write ever reached this node; SCM receives a report that it has no replica.
            self.pending_reports.container_changed(id);
            return Ok(());
        };
        let owner = container.info().pipeline.unwrap_or(pipeline);
        let state = container.info().state;
        if force && state == ContainerState::QuasiClosed {
            let close = |store: &ContainerStore, id| store.close(id, None);
            // Its state proves nothing about the log of a group that exists.
            if container.has_arrived() {
                self.command_context().change_container(id, close).await?;
            } else if !self.without_group(owner, id, close).await? {
                return Err(StorageError::PipelineLives { id, pipeline: owner });
            }
        } else if matches!(state, ContainerState::Open | ContainerState::Closing)
            && container.info().replica_index > 0
        {
            // An erasure-coded one has no group; bytes that were not acknowledged are in no key.
            let close = |store: &ContainerStore, id| store.close(id, None);
            self.command_context().change_container(id, close).await?;
        } else if matches!(state, ContainerState::Open | ContainerState::Closing) {
            self.command_context().change_container(id, ContainerStore::mark_closing).await?;
            self.pending_reports.container_changed(id);
            self.close_live(id, owner).await?;
        }
        self.pending_reports.container_changed(id);
        Ok(())
    }

    /// Closes a container that takes writes; times out if that takes too long.
    async fn close_live(&self, id: ContainerId, owner: PipelineId) -> Result<(), StorageError> {
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        let mut asked: Option<Instant> = None;
        while self.is_live(id) && Instant::now() < deadline {
            let Some(pipeline) = self.pipelines.get(owner) else {
                if self.without_group(owner, id, ContainerStore::quasi_close).await? {
                    return Ok(());
                }
                // The group is just being started, or stopped.
                tokio::time::sleep(POLL_INTERVAL).await;
                continue;
            };
            if pipeline.group.is_leader() {
                match self.close_through(id, &pipeline, deadline).await {
                    Ok(()) if !self.is_live(id) => break,
                    Ok(()) => {}
                    Err(refusal @ Refusal::Failed { .. }) => {
                        tracing::warn!(container = %id, %refusal, "cannot close container through its pipeline");
                        break;
                    }
                    Err(refusal) => {
                        tracing::debug!(container = %id, %refusal, "container close failed, will retry");
                    }
                }
            } else if asked.is_none_or(|asked| asked.elapsed() >= REQUEST_INTERVAL) {
                asked = Some(Instant::now());
                if let Err(error) = self.close_on_leader(id, &pipeline).await {
                    tracing::debug!(container = %id, %error, "asking the leader again to close the container");
                }
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        if self.is_live(id) {
            self.report_no_quorum(id, owner);
        }
        Ok(())
    }

    /// SCM gives up a pipeline without a quorum: then this node leaves the group, and the container
    /// is closed in its present state.
    fn report_no_quorum(&self, id: ContainerId, owner: PipelineId) {
        let leader = self.pipelines.get(owner).and_then(|p| p.group.leader().leader);
        tracing::warn!(container = %id, pipeline = %owner, ?leader, "the pipeline did not close the container");
        if leader.is_none() {
            let reason = format!("cannot close container {id}: its pipeline has no leader");
            self.pending_reports.pipeline_failed(owner, reason);
        }
    }

    /// Closes a container at an entry of its pipeline's log. For the leader.
    async fn close_through(
        &self,
        id: ContainerId,
        pipeline: &Pipeline,
        deadline: Instant,
    ) -> Result<(), Refusal> {
        let request = close_request(id, pipeline.id);
        let header = Bytes::from(request.encode_to_vec());
        let deadline = Some(deadline.into_std());
        let command = Command {
            header,
            request: Box::new(request),
            payload: Bytes::new(),
            deadline,
            peer: None,
            verify_reads: false,
        };
        write::through(pipeline, command).await.map(|_| ())
    }

    /// Asks the pipeline's leader to close a container: the leader may have no contact to SCM.
    async fn close_on_leader(
        &self,
        id: ContainerId,
        pipeline: &Pipeline,
    ) -> Result<(), LeaderCloseError> {
        let leader: Uuid = pipeline.group.leader().leader.ok_or(LeaderCloseError::NoLeader)?;
        let peer = pipeline.peers.iter().find(|peer| peer.node == leader);
        let address = &peer.ok_or(LeaderCloseError::NoLeader)?.address;
        let options = ClientOptions { connections: 1, ..ClientOptions::default() };
        let client = Client::new(address.as_str(), options);
        let _: ContainerCommandResponseProto = framed::message::call(
            &client,
            proto::method::CONTAINER,
            &close_request(id, pipeline.id),
            REQUEST_TIMEOUT,
        )
        .await?;
        Ok(())
    }

    /// Changes a container whose pipeline has no group on this node, and prevents the start of one
    /// meanwhile. Returns `false`, without a change, if there is a group.
    async fn without_group(
        &self,
        owner: PipelineId,
        id: ContainerId,
        change: impl FnOnce(&ContainerStore, ContainerId) -> Result<(), StorageError> + Send + 'static,
    ) -> Result<bool, StorageError> {
        let Some(_absent) = self.pipelines.absent(owner).await else { return Ok(false) };
        self.command_context().change_container(id, change).await?;
        Ok(true)
    }

    fn is_live(&self, id: ContainerId) -> bool {
        let state = |id| self.store.container(id).map(|container| container.info().state);
        state(id).is_ok_and(|s| matches!(s, ContainerState::Open | ContainerState::Closing))
    }
}

fn close_request(id: ContainerId, pipeline: PipelineId) -> ContainerCommandRequestProto {
    ContainerCommandRequestProto {
        cmd_type: Type::CloseContainer as i32,
        container_id: id.to_wire(),
        pipeline_id: Some(pipeline.to_string()),
        close_container: Some(CloseContainerRequestProto {}),
        ..Default::default()
    }
}
