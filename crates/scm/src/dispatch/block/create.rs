//! New containers for pipelines that are short of them, or for an operator.

use std::sync::Arc;

use placement::block::Wish;
use placement::{Change, Container, Millis, Sequence, Usage};
use proto::hdds::{LifeCycleEvent, LifeCycleState};
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
    let _one_at_a_time = core.creating.begin().await;
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
    let _one_at_a_time = core.creating.begin().await;
    if core.cluster().pipelines.len() > before {
        return Ok(true);
    }
    let made =
        add_ec_pipeline(core, wish.config, wish.storage_types, &wish.exclude.datanodes).await?;
    let Some(pipeline) = made else { return Ok(false) };
    create(core, &[(pipeline, 1)], &wish.owner.into(), wish.config).await?;
    Ok(true)
}

/// Adds a pipeline of erasure coded block groups on disks of the first of these types that enough
/// nodes have; `None` when there are too few nodes for each. The caller holds `core.creating`.
async fn add_ec_pipeline(
    core: &Core,
    config: ReplicationConfig,
    storage_types: &[StorageType],
    avoid: &[DatanodeId],
) -> Result<Option<PipelineId>, RequestError> {
    let id = PipelineId::random();
    let pipeline = {
        let cluster = core.cluster();
        let plan = |of: &StorageType| cluster.plan_ec_pipeline((config, *of), avoid, id);
        let Some(plan) = storage_types.iter().find_map(plan) else { return Ok(None) };
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
    let _one_at_a_time = core.creating.begin().await;
    if core.cluster().safe_mode.is_on() {
        return Err(RequestError::SafeMode("allocateContainer"));
    }
    let pipeline = match config {
        ReplicationConfig::Ec(_) => {
            let made = add_ec_pipeline(core, config, &StorageType::ANY, &[]).await?;
            made.ok_or_else(|| {
                RequestError::NoRoom(format!(
                    "there are too few datanodes for an {config} pipeline"
                ))
            })?
        }
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
                evidence: Default::default(),
            })
        })
        .collect();
    let refusals = core.propose(changes).await?;
    let made = numbers.zip(refusals).filter(|(_, r)| r.is_none());
    let made: Vec<ContainerId> = made.map(|(id, _)| ContainerId(id)).collect();
    end_stillborn(core, &made, now).await?;
    Ok(made)
}

/// Deletes containers whose pipeline was removed before they were created: no client was given a
/// block in them, and no member exists that could report them later.
async fn end_stillborn(core: &Core, made: &[ContainerId], now: Millis) -> Result<(), RequestError> {
    let changes: Vec<Change> =
        {
            let cluster = core.cluster();
            let stillborn = made.iter().filter(|id| cluster.is_without_members(**id));
            stillborn
                .flat_map(|id| {
                    [LifeCycleEvent::Close, LifeCycleEvent::Delete].map(|event| {
                        Change::MoveContainer { id: *id, event, now, usage: Usage::default() }
                    })
                })
                .collect()
        };
    if !changes.is_empty() {
        core.propose(changes).await?;
    }
    Ok(())
}
