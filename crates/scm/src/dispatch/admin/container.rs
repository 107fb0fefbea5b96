//! Containers: look up, list, locate, create, close.

use std::sync::Arc;

use placement::{Cluster, Container};
use proto::container_location::scm_close_container_response_proto::Status as CloseStatus;
use proto::container_location::*;
use proto::hdds::{self, ContainerWithPipeline, LifeCycleState, ScmContainerReplicaProto};
use types::{ContainerId, DatanodeDetails, Pipeline, ReplicationConfig};

use super::history;
use crate::core::Core;
use crate::dispatch::block::create::create_one;
use crate::error::RequestError;

/// AllocateContainer: a container of its own for the caller.
pub async fn create(
    core: &Arc<Core>,
    r: &ContainerRequestProto,
) -> Result<ContainerResponseProto, RequestError> {
    let config = ReplicationConfig::from_wire(
        r.replication_type,
        r.replication_factor,
        r.ec_replication_config.as_ref(),
    )?;
    let id = create_one(core, config, &r.owner).await?;
    Ok(ContainerResponseProto {
        error_code: container_response_proto::Error::Success as i32,
        container_with_pipeline: with_pipeline(&core.cluster(), id)?,
        error_message: None,
    })
}

/// GetContainer.
pub fn get(
    core: &Core,
    r: &GetContainerRequestProto,
) -> Result<GetContainerResponseProto, RequestError> {
    let id = ContainerId::from_wire(r.container_id);
    let cluster = core.cluster();
    let container = cluster.containers.get(id).ok_or(RequestError::ContainerNotFound(id))?;
    Ok(GetContainerResponseProto { container_info: container.to_wire() })
}

/// GetContainerWithPipeline.
pub fn locate(
    core: &Core,
    r: &GetContainerWithPipelineRequestProto,
) -> Result<GetContainerWithPipelineResponseProto, RequestError> {
    let id = ContainerId::from_wire(r.container_id);
    Ok(GetContainerWithPipelineResponseProto {
        container_with_pipeline: with_pipeline(&core.cluster(), id)?,
    })
}

/// GetContainerWithPipelineBatch: all of them, or an error.
pub fn locate_batch(
    core: &Core,
    r: &GetContainerWithPipelineBatchRequestProto,
) -> Result<GetContainerWithPipelineBatchResponseProto, RequestError> {
    let cluster = core.cluster();
    let ids = r.container_i_ds.iter().map(|id| ContainerId::from_wire(*id));
    let found = ids.map(|id| with_pipeline(&cluster, id)).collect::<Result<_, _>>()?;
    Ok(GetContainerWithPipelineBatchResponseProto { container_with_pipelines: found })
}

/// GetExistContainerWithPipelinesInBatch: those that can be located.
pub fn locate_existing(
    core: &Core,
    r: &GetExistContainerWithPipelinesInBatchRequestProto,
) -> GetExistContainerWithPipelinesInBatchResponseProto {
    let cluster = core.cluster();
    let ids = r.container_i_ds.iter().map(|id| ContainerId::from_wire(*id));
    GetExistContainerWithPipelinesInBatchResponseProto {
        container_with_pipelines: ids.filter_map(|id| with_pipeline(&cluster, id).ok()).collect(),
    }
}

/// ListContainer: from the start id on, filtered, with the number of all that match.
pub fn list(
    core: &Core,
    r: &ScmListContainerRequestProto,
) -> Result<ScmListContainerResponseProto, RequestError> {
    let wanted = match r.r#type {
        None => None,
        Some(kind) if r.factor.is_some() || r.ec_replication_config.is_some() => {
            let ec = r.ec_replication_config.as_ref();
            Some(Kind::Config(ReplicationConfig::from_wire(kind, r.factor, ec)?))
        }
        Some(kind) => Some(Kind::Type(kind)),
    };
    let matches = |c: &&Container| {
        r.state.is_none_or(|s| c.state as i32 == s)
            && r.factor.is_none_or(|f| c.config.wire_factor().map(|f| f as i32) == Some(f))
            && r.suppressed.is_none_or(|s| c.suppressed == s)
            && wanted.is_none_or(|w| w.holds(&c.config))
    };
    let count = (r.count as usize).min(core.options.list_limit);
    let cluster = core.cluster();
    let total = cluster.containers.from(ContainerId(0)).filter(matches).count();
    let from = cluster.containers.from(ContainerId(r.start_container_id()));
    Ok(ScmListContainerResponseProto {
        containers: from.filter(matches).take(count).map(Container::to_wire).collect(),
        container_count: Some(total as i64),
    })
}

#[derive(Clone, Copy)]
enum Kind {
    Type(i32),
    Config(ReplicationConfig),
}

impl Kind {
    fn holds(self, config: &ReplicationConfig) -> bool {
        match self {
            Self::Type(kind) => config.wire_type() as i32 == kind,
            Self::Config(wanted) => *config == wanted,
        }
    }
}

/// ListContainerIDs.
pub fn list_ids(
    core: &Core,
    r: &ScmListContainerIDsRequestProto,
) -> ScmListContainerIDsResponseProto {
    let start = ContainerId(r.start_container_id.as_ref().map_or(0, |c| c.id));
    let count = (r.count as usize).min(core.options.list_limit);
    let cluster = core.cluster();
    let of_state = |c: &&Container| r.state.is_none_or(|s| c.state as i32 == s);
    let found = cluster.containers.from(start).filter(of_state).take(count);
    ScmListContainerIDsResponseProto {
        container_i_ds: found.map(|c| hdds::ContainerId { id: c.id.0 }).collect(),
    }
}

/// GetContainerCount, GetClosedContainerCount.
pub fn count(core: &Core, kind: Type, state: Option<i32>) -> GetContainerCountResponseProto {
    let cluster = core.cluster();
    let state = match kind {
        Type::GetClosedContainerCount => Some(LifeCycleState::Closed),
        _ => state.and_then(|s| LifeCycleState::try_from(s).ok()),
    };
    let count = state.map_or(cluster.containers.len(), |s| cluster.containers.count(s));
    GetContainerCountResponseProto { container_count: count as i64 }
}

/// GetContainerReplicas.
pub fn replicas(
    core: &Core,
    r: &GetContainerReplicasRequestProto,
) -> Result<GetContainerReplicasResponseProto, RequestError> {
    let id = ContainerId::from_wire(r.container_id);
    let cluster = core.cluster();
    cluster.containers.get(id).ok_or(RequestError::ContainerNotFound(id))?;
    let one = |r: &placement::Replica| {
        let node = cluster.nodes.get(r.node)?;
        Some(ScmContainerReplicaProto {
            container_id: id.to_wire(),
            state: r.state.to_wire().as_str_name().to_owned(),
            datanode_details: DatanodeDetails::to_wire(&node.details),
            place_of_birth: r.origin.to_string(),
            sequence_id: r.sequence_id as i64,
            key_count: r.keys as i64,
            bytes_used: r.used_bytes as i64,
            replica_index: Some(r.replica_index.into()),
            data_checksum: Some(r.data_checksum),
            storage_type: r.storage_type.to_optional_wire(),
        })
    };
    let container_replica = cluster.replicas.of(id).iter().filter_map(one).collect();
    let mut answer = GetContainerReplicasResponseProto { container_replica, ..Default::default() };
    if r.with_history == Some(true) {
        answer.event = history::events(&cluster, id);
        answer.under_way = history::under_way(&cluster, id, core.clock.now());
    }
    Ok(answer)
}

/// CloseContainer.
pub async fn close(
    core: &Core,
    r: &ScmCloseContainerRequestProto,
) -> Result<ScmCloseContainerResponseProto, RequestError> {
    let id = ContainerId::from_wire(r.container_id);
    let (state, decision) = {
        let cluster = core.cluster();
        let state = cluster.containers.get(id).ok_or(RequestError::ContainerNotFound(id))?.state;
        (state, cluster.finalize_container(id, core.clock.now()))
    };
    let status = match state {
        LifeCycleState::Open => {
            core.propose(decision.changes).await?;
            CloseStatus::Ok
        }
        LifeCycleState::Closing => CloseStatus::ContainerAlreadyClosing,
        _ => CloseStatus::ContainerAlreadyClosed,
    };
    Ok(ScmCloseContainerResponseProto { status: Some(status as i32) })
}

fn with_pipeline(
    cluster: &Cluster,
    id: ContainerId,
) -> Result<ContainerWithPipeline, RequestError> {
    let (container, pipeline) = cluster.locate(id)?;
    Ok(ContainerWithPipeline {
        container_info: container.to_wire(),
        pipeline: Pipeline::to_wire(&pipeline),
    })
}
