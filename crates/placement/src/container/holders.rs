//! The nodes that have, or may make, a replica of a container.

use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId};

use crate::state::container::Containers;
use crate::state::pipeline::Pipelines;
use crate::state::replica::Replicas;

/// State that determines the nodes that hold a container.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holders<'a> {
    pub containers: &'a Containers,
    pub pipelines: &'a Pipelines,
    pub replicas: &'a Replicas,
}

impl Holders<'_> {
    /// The nodes that have a replica, or as members of the pipeline may make one.
    pub(crate) fn of(&self, id: ContainerId) -> Vec<DatanodeId> {
        let mut nodes: Vec<_> = self.replicas.of(id).iter().map(|r| r.node).collect();
        let Some(container) = self.containers.get(id) else { return nodes };
        let written = matches!(container.state, LifeCycleState::Open | LifeCycleState::Closing);
        if let Some(entry) = container.pipeline.and_then(|p| self.pipelines.get(p))
            && written
        {
            for member in &entry.record.members {
                if !nodes.contains(&member.id) {
                    nodes.push(member.id);
                }
            }
        }
        nodes
    }
}
