//! New containers for pipelines that are short of them, or for an operator.

use std::sync::Arc;

use placement::block::Wish;
use placement::{Change, Container, Sequence};
use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId, PipelineId, ReplicationConfig, StorageType};

use super::ids;
use crate::core::Core;
use crate::error::RequestError;

/// Makes the containers that `pipelines` are short of. A second request finds them made.
pub async fn create_containers(
    core: &Core,
    pipelines: &[(PipelineId, u32)],
    owner: &Arc<str>,
    config: ReplicationConfig,
) -> Result<(), RequestError> {
    let before = core.cluster().containers.len();
    let _one_at_a_time = core.creating.lock().await;
    if core.cluster().containers.len() != before {
        return Ok(());
    }
    create(core, pipelines, owner, config).await.map(drop)
}

/// Makes a pipeline of erasure coded block groups outside of the excluded nodes, on disks of the
/// first type that enough nodes have, and its container; false when there are too few nodes. A
/// second request finds it made.
pub async fn create_ec_pipeline(core: &Core, wish: Wish<'_>) -> Result<bool, RequestError> {
    let before = core.cluster().pipelines.len();
    let _one_at_a_time = core.creating.lock().await;
    if core.cluster().pipelines.len() > before {
        return Ok(true);
    }
    for storage_type in wish.storage_types {
        let kind = (wish.config, *storage_type);
        let made = add_ec_pipeline(core, kind, &wish.exclude.datanodes).await?;
        let Some(pipeline) = made else { continue };
        create(core, &[(pipeline, 1)], &wish.owner.into(), wish.config).await?;
        return Ok(true);
    }
    Ok(false)
}

/// Adds a pipeline of erasure coded block groups; `None` when there are too few nodes. The caller
/// holds `core.creating`.
async fn add_ec_pipeline(
    core: &Core,
    kind: (ReplicationConfig, StorageType),
    avoid: &[DatanodeId],
) -> Result<Option<PipelineId>, RequestError> {
    let id = PipelineId::random();
    let pipeline = {
        let cluster = core.cluster();
        let plan = cluster.plan_ec_pipeline(kind, avoid, id);
        let Some(plan) = plan else { return Ok(None) };
        cluster.build_pipeline(&plan, id, core.clock.now())
    };
    core.propose_one(Change::AddPipeline(pipeline)).await?;
    Ok(Some(id))
}

/// Makes one container on an open pipeline; an erasure coded one on a pipeline of its own, which is
/// closed with it.
pub async fn create_one(
    core: &Core,
    config: ReplicationConfig,
    owner: &str,
) -> Result<ContainerId, RequestError> {
    let _one_at_a_time = core.creating.lock().await;
    if core.cluster().safe_mode.is_on() {
        return Err(RequestError::SafeMode("allocateContainer"));
    }
    let pipeline = match config {
        ReplicationConfig::Ec(_) => usual_ec_pipeline(core, config).await?.ok_or_else(|| {
            RequestError::NoRoom(format!("there are too few datanodes for an {config} pipeline"))
        })?,
        // Copies without consensus are written through the same groups.
        ReplicationConfig::StandAlone(factor) | ReplicationConfig::Ratis(factor) => {
            emptiest_pipeline(core, ReplicationConfig::Ratis(factor)).ok_or_else(|| {
                RequestError::NoRoom(format!("there is no open {config} pipeline"))
            })?
        }
    };
    let created = create(core, &[(pipeline, 1)], &owner.into(), config).await?;
    created
        .first()
        .copied()
        .ok_or_else(|| RequestError::Failed("the container was not created".to_owned()))
}

/// Adds a pipeline of erasure coded block groups on disks of the usual type, or else of one that
/// enough nodes have.
async fn usual_ec_pipeline(
    core: &Core,
    config: ReplicationConfig,
) -> Result<Option<PipelineId>, RequestError> {
    for storage_type in StorageType::ANY {
        if let Some(id) = add_ec_pipeline(core, (config, storage_type), &[]).await? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// The open pipeline with the fewest open containers, of those on disks of the usual type if there
/// are such.
fn emptiest_pipeline(core: &Core, config: ReplicationConfig) -> Option<PipelineId> {
    let cluster = core.cluster();
    let fewest = |p: &&PipelineId| cluster.containers.open(**p).len();
    let of_type = |of| cluster.pipelines.open_of(config, of).iter().min_by_key(fewest).copied();
    StorageType::ANY.into_iter().find_map(of_type)
}

async fn create(
    core: &Core,
    pipelines: &[(PipelineId, u32)],
    owner: &Arc<str>,
    config: ReplicationConfig,
) -> Result<Vec<ContainerId>, RequestError> {
    let count: u32 = pipelines.iter().map(|(_, n)| n).sum();
    let numbers = loop {
        let taken = core.cluster().sequences.allocate(Sequence::ContainerId, count.into());
        match taken {
            Some(numbers) => break numbers,
            None => ids::reserve(core, Sequence::ContainerId, count.into()).await?,
        }
    };
    let now = core.clock.now();
    let of: Vec<(PipelineId, StorageType)> = {
        let cluster = core.cluster();
        let of = |p| cluster.pipelines.get(p).map(|e| e.record.storage_type).unwrap_or_default();
        let each = pipelines.iter().map(|(p, n)| ((*p, of(*p)), *n as usize));
        each.flat_map(|(one, n)| std::iter::repeat_n(one, n)).collect()
    };
    let changes = of
        .into_iter()
        .zip(numbers.clone())
        .map(|((pipeline, storage_type), id)| {
            Change::AddContainer(Container {
                id: ContainerId(id),
                state: LifeCycleState::Open,
                pipeline: Some(pipeline),
                config,
                storage_type,
                owner: owner.clone(),
                used_bytes: 0,
                keys: 0,
                state_enter_ms: now,
                sequence_id: 0,
                delete_transaction: 0,
                suppressed: false,
            })
        })
        .collect();
    let refusals = core.propose(changes).await?;
    let made = numbers.zip(refusals).filter(|(_, r)| r.is_none());
    Ok(made.map(|(id, _)| ContainerId(id)).collect())
}
