//! Locations at which a container can be read, or written.

use std::collections::BTreeSet;
use std::sync::Arc;

use proto::hdds::LifeCycleState;
use types::{ContainerId, Pipeline, PipelineId, PipelineState};

use super::Reported;
use crate::state::container::{Container, Containers};
use crate::state::node::Health;
use crate::state::pending::PendingTasks;
use crate::state::replica::ReplicaState;

/// Reason for which a container cannot be located.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocateError {
    /// There is no such container.
    #[error("Container #{0} not found")]
    NotFound(ContainerId),
    /// Its replicas have not been reported (yet).
    #[error("Container {0} has no replicas to service this operation{suffix}", suffix = if *.1 { " in Safe mode" } else { "" })]
    NoReplicas(ContainerId, bool),
}

/// State that determines a container's location.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Locating<'a> {
    pub reported: Reported<'a>,
    pub containers: &'a Containers,
    pub pending: &'a PendingTasks,
    pub in_safe_mode: bool,
}

impl<'a> Locating<'a> {
    /// The container, and the pipeline to reach it through: while OPEN that of its writes, else one
    /// for reads, of the nodes that have a replica, the best first.
    ///
    /// # Errors
    /// When there is no such container, or it has no known replica.
    pub fn locate(&self, id: ContainerId) -> Result<(&'a Container, Arc<Pipeline>), LocateError> {
        let container = self.containers.get(id).ok_or(LocateError::NotFound(id))?;
        let written = matches!(container.state, LifeCycleState::Open | LifeCycleState::Closing);
        let writer =
            container.pipeline.and_then(|p| self.reported.pipelines.get(p)).filter(|_| written);
        if let Some(entry) = writer
            && (container.state == LifeCycleState::Open || self.reported.replicas.of(id).is_empty())
        {
            return Ok((container, entry.record.clone()));
        }
        let pipeline = self.read_pipeline(container);
        if pipeline.members.is_empty() {
            return Err(LocateError::NoReplicas(id, self.in_safe_mode));
        }
        Ok((container, Arc::new(pipeline)))
    }

    fn read_pipeline(&self, container: &Container) -> Pipeline {
        let mut replicas: Vec<_> = self
            .reported
            .replicas
            .of(container.id)
            .iter()
            .filter_map(|r| Some((r, self.reported.nodes.get(r.node)?)))
            .filter(|(r, n)| n.health != Health::Dead && r.state != ReplicaState::Deleted)
            .collect();
        let is_ec = container.config.is_ec();
        let closed = container.state == LifeCycleState::Closed;
        replicas.sort_by_key(|(r, n)| {
            let broken = matches!(r.state, ReplicaState::Unhealthy | ReplicaState::Invalid);
            // One that is not closed may be a stale one, from before its index was rebuilt.
            let late = is_ec && closed && r.state != ReplicaState::Closed;
            // It may be deleted before a client reads it.
            let goes = self.pending.is_going(container.id, r.node);
            (broken, late, goes, n.health, std::cmp::Reverse(r.sequence_id), r.node)
        });
        if is_ec {
            // One node for each index: the best.
            let indexes = 1..=container.config.required_nodes();
            let mut seen = BTreeSet::new();
            replicas.retain(|(r, _)| {
                indexes.contains(&r.replica_index) && seen.insert(r.replica_index)
            });
        }
        let leader = container
            .pipeline
            .and_then(|p| self.reported.pipelines.get(p))
            .and_then(|e| e.record.leader)
            .filter(|l| replicas.iter().any(|(r, _)| r.node == *l));
        Pipeline {
            // The same id each time, so that a client that caches by it finds it again.
            id: container
                .pipeline
                .unwrap_or_else(|| PipelineId(uuid::Uuid::from_u128(container.id.0.into()))),
            config: container.config,
            storage_type: container.storage_type,
            state: PipelineState::Allocated,
            replica_indexes: replicas.iter().map(|(r, _)| r.replica_index).collect(),
            members: replicas.iter().map(|(_, n)| n.details.clone()).collect(),
            leader,
            suggested_leader: None,
            created_ms: container.state_enter_ms,
            order: Vec::new(),
        }
    }
}
