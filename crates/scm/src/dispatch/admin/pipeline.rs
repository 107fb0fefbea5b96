//! Pipelines: list, look up, create, close, put aside.

use placement::Change;
use proto::container_location::*;
use proto::hdds;
use types::{Pipeline, PipelineId, ReplicationConfig};

use crate::core::Core;
use crate::error::RequestError;

/// ListPipelines.
pub fn list(core: &Core) -> ListPipelineResponseProto {
    let cluster = core.cluster();
    ListPipelineResponseProto {
        pipelines: cluster.pipelines.iter().map(|e| Pipeline::to_wire(&e.record)).collect(),
    }
}

/// GetPipeline.
pub fn get(
    core: &Core,
    r: &GetPipelineRequestProto,
) -> Result<GetPipelineResponseProto, RequestError> {
    let id = PipelineId::from_wire(&r.pipeline_id)?;
    let cluster = core.cluster();
    let entry = cluster.pipelines.get(id).ok_or(RequestError::PipelineNotFound(id))?;
    Ok(GetPipelineResponseProto { pipeline: Pipeline::to_wire(&entry.record) })
}

/// AllocatePipeline: one more, of the least loaded nodes.
pub async fn create(
    core: &Core,
    r: &PipelineRequestProto,
) -> Result<PipelineResponseProto, RequestError> {
    let config =
        ReplicationConfig::from_wire(r.replication_type, Some(r.replication_factor), None)?;
    if !matches!(config, ReplicationConfig::Ratis(_)) {
        return Err(RequestError::Unsupported(format!("creation of {config} pipelines")));
    }
    let pipeline = {
        let cluster = core.cluster();
        let plan = cluster.plan_pipeline(config, &[]).ok_or_else(|| {
            RequestError::NoRoom(format!(
                "Pipeline creation failed due to no sufficient healthy datanodes. Required {}.",
                config.required_nodes()
            ))
        })?;
        cluster.build_pipeline(&plan, PipelineId::random(), core.clock.now())
    };
    core.propose_one(Change::AddPipeline(pipeline.clone())).await?;
    let mut response =
        PipelineResponseProto { pipeline: Some(pipeline.to_wire()), ..Default::default() };
    response.set_error_code(pipeline_response_proto::Error::Success);
    Ok(response)
}

/// ClosePipeline.
pub async fn close(
    core: &Core,
    id: &hdds::PipelineId,
) -> Result<ClosePipelineResponseProto, RequestError> {
    let id = known(core, id)?;
    core.propose_one(Change::ClosePipeline { id, now: core.clock.now() }).await?;
    Ok(ClosePipelineResponseProto {})
}

/// DeactivatePipeline.
pub async fn deactivate(
    core: &Core,
    id: &hdds::PipelineId,
) -> Result<DeactivatePipelineResponseProto, RequestError> {
    core.propose_one(Change::SetPipelineDormant(known(core, id)?, true)).await?;
    Ok(DeactivatePipelineResponseProto {})
}

/// ActivatePipeline.
pub async fn activate(
    core: &Core,
    id: &hdds::PipelineId,
) -> Result<ActivatePipelineResponseProto, RequestError> {
    core.propose_one(Change::SetPipelineDormant(known(core, id)?, false)).await?;
    core.progress.notify_waiters();
    Ok(ActivatePipelineResponseProto {})
}

fn known(core: &Core, id: &hdds::PipelineId) -> Result<PipelineId, RequestError> {
    let id = PipelineId::from_wire(id)?;
    core.cluster().pipelines.get(id).map(|_| id).ok_or(RequestError::PipelineNotFound(id))
}
