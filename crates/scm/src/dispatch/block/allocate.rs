//! AllocateScmBlock: room for blocks, from memory.
//!
//! Usually a request takes the lock once: containers come from the rules, ids from the current
//! batch. Only when a batch is used up, containers are missing or no pipeline is open does a
//! request wait.

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use framed::Reply;
use placement::block::{Exclude, Slot, Wish};
use placement::{Node, Sequence};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use proto::block_location::{AllocateScmBlockRequestProto, ScmBlockLocationResponse};
use proto::hdds::{ContainerBlockId, ExcludeListProto};
use types::{ContainerId, DatanodeId, Pipeline, PipelineId, ReplicationConfig, StorageType};

use super::{create, ids};
use crate::core::Core;
use crate::error::RequestError;
use crate::service_names as names;

/// Blocks in one request at most.
const MAX_BLOCKS: u32 = 10_000;

/// Time a request waits for a pipeline to open before it is refused.
const PIPELINE_TIMEOUT: Duration = Duration::from_secs(5);

/// Blocks handed out: consecutive ids, a place for each.
pub struct Blocks {
    first: u64,
    slots: Vec<Slot>,
}

/// Hands out blocks.
pub async fn allocate(
    core: &Arc<Core>,
    request: &AllocateScmBlockRequestProto,
) -> Result<Blocks, RequestError> {
    let config = ReplicationConfig::from_wire(
        request.r#type,
        request.factor,
        request.ec_replication_config.as_ref(),
    )?;
    if matches!(config, ReplicationConfig::StandAlone(_)) {
        return Err(RequestError::Unsupported(format!("allocation of {config} blocks")));
    }
    let count = request.num_blocks;
    if count == 0 || count > MAX_BLOCKS {
        return Err(RequestError::Invalid(format!("{count} blocks, expected 1 to {MAX_BLOCKS}")));
    }
    let exclude = request.exclude_list.as_ref().map(exclude).transpose()?.unwrap_or_default();
    let storage_types = storage_types(request)?;
    let mut wish = Wish {
        count: count as usize,
        config,
        storage_types: &storage_types,
        waits: true,
        owner: &request.owner,
        exclude: &exclude,
    };
    let deadline = tokio::time::Instant::now() + PIPELINE_TIMEOUT;
    loop {
        // Registered before the check, so that no event in between is missed.
        let progress = core.progress.notified();
        match attempt(core, wish)? {
            Outcome::Done(blocks, shortage) => {
                core.metrics.blocks_allocated.inc_by(count.into());
                core.client_load.note(count as usize);
                refill(core, shortage, wish);
                return Ok(blocks);
            }
            Outcome::NoEcPipeline => {
                let made = create::create_ec_pipeline(core, wish).await?;
                if !made {
                    return Err(RequestError::NoRoom(no_pipeline(core, wish)));
                }
            }
            Outcome::NoIds => ids::reserve(core, Sequence::LocalId, count.into()).await?,
            Outcome::NoContainers(shortage) => {
                create::create_containers(core, &shortage, &request.owner.as_str().into(), config)
                    .await?;
            }
            Outcome::NoPipeline => {
                core.services.wake(names::PIPELINE_CREATOR);
                if tokio::time::timeout_at(deadline, progress).await.is_err() {
                    if !wish.waits || wish.storage_types.len() < 2 {
                        return Err(RequestError::NoRoom(no_pipeline(core, wish)));
                    }
                    // The nodes could serve a type that is wanted more, and do not.
                    wish.waits = false;
                }
            }
        }
    }
}

/// Objects to create in the background.
struct Shortage {
    containers: Vec<(PipelineId, u32)>,
    ec_pipeline: bool,
    storage_type: StorageType,
}

enum Outcome {
    Done(Blocks, Shortage),
    NoIds,
    NoEcPipeline,
    NoContainers(Vec<(PipelineId, u32)>),
    NoPipeline,
}

fn attempt(core: &Core, wish: Wish<'_>) -> Result<Outcome, RequestError> {
    let mut cluster = core.cluster();
    if cluster.safe_mode.is_on() {
        return Err(RequestError::SafeMode("allocateBlock"));
    }
    let allocation = cluster.allocate(wish);
    if allocation.slots.is_empty() {
        return Ok(match (allocation.shortage.is_empty(), wish.config) {
            (false, _) => Outcome::NoContainers(allocation.shortage),
            (true, ReplicationConfig::Ec(_)) => Outcome::NoEcPipeline,
            (true, _) => Outcome::NoPipeline,
        });
    }
    let Some(ids) = cluster.sequences.allocate(Sequence::LocalId, wish.count as u64) else {
        return Ok(Outcome::NoIds);
    };
    let blocks = Blocks { first: ids.start, slots: allocation.slots };
    let (containers, ec_pipeline) = (allocation.shortage, allocation.lacks_pipelines);
    let storage_type = allocation.storage_type;
    Ok(Outcome::Done(blocks, Shortage { containers, ec_pipeline, storage_type }))
}

/// Prepares for the next request: containers that are missing, ids that run out.
fn refill(core: &Arc<Core>, shortage: Shortage, wish: Wish<'_>) {
    let low = core.cluster().sequences.left(Sequence::LocalId) < core.options.id_batch / 4;
    if low && core.reserving.is_idle() {
        let core = core.clone();
        tokio::spawn(async move {
            let wanted = core.options.id_batch / 2;
            if let Err(error) = ids::reserve(&core, Sequence::LocalId, wanted).await {
                tracing::warn!(%error, "cannot reserve block ids in advance");
            }
        });
    }
    let Shortage { containers, ec_pipeline, storage_type } = shortage;
    if containers.is_empty() && !ec_pipeline || !core.creating.is_idle() {
        return;
    }
    let core = core.clone();
    let (owner, config): (Arc<str>, _) = (wish.owner.into(), wish.config);
    tokio::spawn(async move {
        let made = match containers.is_empty() {
            false => create::create_containers(&core, &containers, &owner, config).await,
            true => {
                let exclude = Exclude::default();
                let wish = Wish {
                    count: 1,
                    config,
                    storage_types: &[storage_type],
                    waits: false,
                    owner: &owner,
                    exclude: &exclude,
                };
                create::create_ec_pipeline(&core, wish).await.map(drop)
            }
        };
        if let Err(error) = made {
            tracing::warn!(%error, %config, "cannot create containers in advance");
        }
    });
}

fn no_pipeline(core: &Core, wish: Wish<'_>) -> String {
    let (cluster, config) = (core.cluster(), wish.config);
    let serves = |n: &&Node| {
        n.accepts_writes() && wish.storage_types.iter().any(|of| n.healthy_disks_of(*of) > 0)
    };
    let usable = cluster.nodes.iter().filter(serves).count();
    let (mut place, mut there) = (String::new(), "");
    if wish.storage_types != StorageType::ANY {
        let types: Vec<String> = wish.storage_types.iter().map(ToString::to_string).collect();
        (place, there) = (format!(" on {}", types.join(" or ")), " there");
    }
    format!(
        "Unable to allocate {} blocks: no open {config} pipeline{place}. {usable} of {} datanodes take writes{there}, {} needed",
        wish.count,
        cluster.nodes.len(),
        config.required_nodes()
    )
}

/// The storage types that blocks may be on; any of them when the request names none.
fn storage_types(request: &AllocateScmBlockRequestProto) -> Result<Vec<StorageType>, RequestError> {
    let mut types = Vec::with_capacity(StorageType::ALL.len());
    for wire in &request.storage_type {
        let of = StorageType::from_wire(*wire)?;
        if !types.contains(&of) {
            types.push(of);
        }
    }
    Ok(if types.is_empty() { StorageType::ANY.to_vec() } else { types })
}

fn exclude(list: &ExcludeListProto) -> Result<Exclude, RequestError> {
    let datanode = |s: &String| {
        s.parse::<DatanodeId>()
            .map_err(|_| RequestError::Invalid(format!("excluded datanode {s} is not a uuid")))
    };
    Ok(Exclude {
        datanodes: list.datanodes.iter().map(datanode).collect::<Result<_, _>>()?,
        containers: list.container_ids.iter().map(|id| ContainerId::from_wire(*id)).collect(),
        pipelines: list.pipeline_ids.iter().map(PipelineId::from_wire).collect::<Result<_, _>>()?,
    })
}

/// Numbers of the fields that are encoded by hand below.
mod field {
    pub const ALLOCATE_RESPONSE: u32 = 11;
    pub const BLOCKS: u32 = 3;
    pub const BLOCK_ID: u32 = 1;
    pub const PIPELINE: u32 = 2;
}

/// The response with the blocks in it. Each pipeline is encoded once and copied for each of its
/// blocks: building the messages would cost many times as much as all the rest.
pub fn encode(response: &ScmBlockLocationResponse, blocks: &Blocks) -> Reply {
    let mut pipelines: Vec<(*const Pipeline, Vec<u8>)> = Vec::new();
    let mut parts: Vec<(ContainerBlockId, usize)> = Vec::with_capacity(blocks.slots.len());
    let mut total = 0;
    for (at, slot) in blocks.slots.iter().enumerate() {
        let pointer = Arc::as_ptr(&slot.pipeline);
        let known = pipelines.iter().position(|(p, _)| *p == pointer);
        let pipeline = known.unwrap_or_else(|| {
            let mut bytes = Vec::new();
            encode_key(field::PIPELINE, WireType::LengthDelimited, &mut bytes);
            // Writing into a Vec cannot fail.
            let _ = slot.pipeline.to_wire().encode_length_delimited(&mut bytes);
            pipelines.push((pointer, bytes));
            pipelines.len() - 1
        });
        let id = ContainerBlockId {
            container_id: slot.container.to_wire(),
            local_id: (blocks.first + at as u64) as i64,
        };
        let body = block_len(&id, pipelines.get(pipeline).map_or(0, |(_, b)| b.len()));
        total += 1 + encoded_len_varint(body as u64) + body;
        parts.push((id, pipeline));
    }
    let mut out = BytesMut::with_capacity(response.encoded_len() + total + 16);
    let _ = response.encode(&mut out);
    encode_key(field::ALLOCATE_RESPONSE, WireType::LengthDelimited, &mut out);
    encode_varint(total as u64, &mut out);
    for (id, pipeline) in parts {
        let pipeline = pipelines.get(pipeline).map(|(_, b)| b.as_slice()).unwrap_or_default();
        encode_key(field::BLOCKS, WireType::LengthDelimited, &mut out);
        encode_varint(block_len(&id, pipeline.len()) as u64, &mut out);
        encode_key(field::BLOCK_ID, WireType::LengthDelimited, &mut out);
        let _ = id.encode_length_delimited(&mut out);
        out.put_slice(pipeline);
    }
    Reply { header: out.freeze(), payload: bytes::Bytes::new() }
}

fn block_len(id: &ContainerBlockId, pipeline: usize) -> usize {
    let id = id.encoded_len();
    1 + encoded_len_varint(id as u64) + id + pipeline
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::block_location::{AllocateBlockResponse, AllocateScmBlockResponseProto};
    use types::{DatanodeDetails, PipelineState};

    #[test]
    fn hand_encoding_says_the_same_as_the_messages() {
        let pipeline = |n: u8| {
            Arc::new(Pipeline {
                id: PipelineId::random(),
                config: ReplicationConfig::RATIS_THREE,
                storage_type: StorageType::Ssd,
                state: PipelineState::Open,
                members: (0..n)
                    .map(|_| DatanodeDetails::new(DatanodeId::random(), "127.0.0.1", "host"))
                    .collect(),
                replica_indexes: Vec::new(),
                leader: None,
                suggested_leader: None,
                created_ms: 1,
                order: Vec::new(),
            })
        };
        let (a, b) = (pipeline(3), pipeline(1));
        let slots: Vec<Slot> = (0..300)
            .map(|i| Slot {
                container: ContainerId(1 + i % 7),
                pipeline: if i % 2 == 0 { a.clone() } else { b.clone() },
            })
            .collect();
        let blocks = Blocks { first: 1 << 40, slots };
        let mut plain = ScmBlockLocationResponse { success: Some(true), ..Default::default() };
        let encoded = encode(&plain, &blocks);
        plain.allocate_scm_block_response = Some(AllocateScmBlockResponseProto {
            blocks: blocks
                .slots
                .iter()
                .enumerate()
                .map(|(i, s)| AllocateBlockResponse {
                    container_block_id: Some(ContainerBlockId {
                        container_id: s.container.to_wire(),
                        local_id: (1 << 40) + i as i64,
                    }),
                    pipeline: Some(s.pipeline.to_wire()),
                })
                .collect(),
        });
        assert_eq!(ScmBlockLocationResponse::decode(encoded.header).unwrap(), plain);
    }
}
