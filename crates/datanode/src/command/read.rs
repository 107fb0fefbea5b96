//! Commands that any replica answers from its own disks.

use std::time::Duration;

use bytes::Bytes;
use proto::datanode as dn;
use proto::datanode::{
    ContainerCommandRequestProto, ContainerCommandResponseProto, Result as ResultCode, Type,
};
use types::{BlockId, ContainerId};

use super::answer::success;
use super::{Answer, Command, Failure, Refusal};
use crate::node::Node;
use crate::settings::MAX_CHUNK;
use crate::storage::StorageError;

/// Most entries of one listing.
const MAX_LIST: u32 = 10_000;

/// Bytes of the records of one listing, about: the caller goes on behind the last one.
const MAX_LIST_BYTES: usize = 4 << 20;

/// Longest pause an `Echo` may ask for.
const MAX_ECHO_SLEEP: Duration = Duration::from_secs(60);

/// Answers a command that changes nothing; those that no version of ours knows too.
pub(super) async fn execute(node: &Node, command: Command) -> Result<Answer, Refusal> {
    let request = &command.request;
    let done = match command.kind() {
        Some(Type::ReadChunk) => return Ok(or_failure(read_chunk(node, &command).await?, request)),
        Some(Type::GetSmallFile) => {
            return Ok(or_failure(get_small_file(node, &command).await?, request));
        }
        Some(Type::GetBlock) => get_block(node, request),
        Some(Type::GetCommittedBlockLength) => committed_length(node, request),
        Some(Type::ListBlock) => list_block(node, request),
        Some(Type::ReadContainer) => read_container(node, request),
        Some(Type::ListContainer) => Ok(list_container(node, request)),
        Some(Type::Echo) => return Ok(or_failure(echo(node, &command).await?, request)),
        _ => Err(Failure::new(
            ResultCode::UnsupportedRequest,
            format!("{} is not supported", super::name(command.kind())),
        )),
    };
    Ok(or_failure(done.map(Answer::message), request))
}

fn or_failure(done: Result<Answer, Failure>, request: &ContainerCommandRequestProto) -> Answer {
    done.unwrap_or_else(|failure| Answer::message(failure.response(request)))
}

/// The part of a request that its command needs.
pub(crate) fn part<T>(part: Option<&T>, name: &str) -> Result<T, Failure>
where
    T: Clone,
{
    part.cloned().ok_or_else(|| Failure::malformed(format!("{name} is missing")))
}

/// Whether a block that is asked for by its index in an EC group is of this replica's index.
pub(crate) fn check_replica(node: &Node, block: &dn::DatanodeBlockId) -> Result<(), Failure> {
    let (id, asked) = (ContainerId::from_wire(block.container_id), block.replica_index());
    let has = node.store.container(id).map_or(0, |container| container.info().replica_index);
    if asked > 0 && has > 0 && asked != has {
        return Err(StorageError::ReplicaIndex { id, has, asked }.into());
    }
    Ok(())
}

async fn read_chunk(node: &Node, command: &Command) -> Result<Result<Answer, Failure>, Refusal> {
    let Some(read) = &command.request.read_chunk else {
        return Ok(Err(Failure::malformed("readChunk is missing")));
    };
    if let Err(failure) = check_replica(node, &read.block_id) {
        return Ok(Err(failure));
    }
    let length = usize::try_from(read.chunk_data.len).unwrap_or(usize::MAX);
    if length > MAX_CHUNK {
        let message = format!("a chunk of {length} bytes is longer than {MAX_CHUNK}");
        return Ok(Err(Failure::new(ResultCode::InvalidArgument, message)));
    }
    let _room = node.read_budget.take(length, command.deadline).await?;
    let block = BlockId::from_datanode(&read.block_id);
    let bytes = match node.store.read_chunk(block, &read.chunk_data).await {
        Ok(bytes) => bytes,
        Err(error) => return Ok(Err(error.into())),
    };
    if command.verify_reads
        && let Err(error) = node.store.verify_read(block, read.chunk_data.offset, &bytes)
    {
        return Ok(Err(error.into()));
    }
    let response = ContainerCommandResponseProto {
        read_chunk: Some(dn::ReadChunkResponseProto {
            block_id: read.block_id,
            chunk_data: read.chunk_data.clone(),
            response_data: None,
        }),
        ..success(&command.request)
    };
    Ok(Ok(Answer::with_payload(response, bytes)))
}

async fn get_small_file(
    node: &Node,
    command: &Command,
) -> Result<Result<Answer, Failure>, Refusal> {
    let Some(get) = &command.request.get_small_file else {
        return Ok(Err(Failure::malformed("getSmallFile is missing")));
    };
    if let Err(failure) = check_replica(node, &get.block.block_id) {
        return Ok(Err(failure));
    }
    let room = usize::try_from(node.settings.small_block_size).unwrap_or(MAX_CHUNK);
    let _room = node.read_budget.take(room, command.deadline).await?;
    let block = BlockId::from_datanode(&get.block.block_id);
    let (data, chunk, bytes) = match node.store.get_small_file(block).await {
        Ok(found) => found,
        Err(error) => return Ok(Err(error.into())),
    };
    if command.verify_reads
        && let Err(error) = node.store.verify_read(block, chunk.offset, &bytes)
    {
        return Ok(Err(error.into()));
    }
    let response = ContainerCommandResponseProto {
        get_small_file: Some(dn::GetSmallFileResponseProto {
            data: dn::ReadChunkResponseProto {
                block_id: data.block_id,
                chunk_data: chunk,
                response_data: None,
            },
        }),
        ..success(&command.request)
    };
    Ok(Ok(Answer::with_payload(response, bytes)))
}

fn get_block(
    node: &Node,
    request: &ContainerCommandRequestProto,
) -> Result<ContainerCommandResponseProto, Failure> {
    let get = part(request.get_block.as_ref(), "getBlock")?;
    check_replica(node, &get.block_id)?;
    let block_data = node.store.get_block(BlockId::from_datanode(&get.block_id))?;
    Ok(ContainerCommandResponseProto {
        get_block: Some(dn::GetBlockResponseProto { block_data }),
        ..success(request)
    })
}

fn committed_length(
    node: &Node,
    request: &ContainerCommandRequestProto,
) -> Result<ContainerCommandResponseProto, Failure> {
    let get = part(request.get_committed_block_length.as_ref(), "getCommittedBlockLength")?;
    check_replica(node, &get.block_id)?;
    let length = node.store.committed_length(BlockId::from_datanode(&get.block_id))?;
    Ok(ContainerCommandResponseProto {
        get_committed_block_length: Some(dn::GetCommittedBlockLengthResponseProto {
            block_id: get.block_id,
            block_length: i64::try_from(length).unwrap_or(i64::MAX),
        }),
        ..success(request)
    })
}

fn list_block(
    node: &Node,
    request: &ContainerCommandRequestProto,
) -> Result<ContainerCommandResponseProto, Failure> {
    let list = part(request.list_block.as_ref(), "listBlock")?;
    let container = ContainerId::from_wire(request.container_id);
    let start = u64::try_from(list.start_local_id()).unwrap_or(0);
    let count = list.count.min(MAX_LIST) as usize;
    let block_data = node.store.list_block(container, start, count, MAX_LIST_BYTES)?;
    Ok(ContainerCommandResponseProto {
        list_block: Some(dn::ListBlockResponseProto { block_data }),
        ..success(request)
    })
}

fn read_container(
    node: &Node,
    request: &ContainerCommandRequestProto,
) -> Result<ContainerCommandResponseProto, Failure> {
    let container = node.store.container(ContainerId::from_wire(request.container_id))?;
    Ok(ContainerCommandResponseProto {
        read_container: Some(dn::ReadContainerResponseProto {
            container_data: Some(container.to_wire()),
        }),
        ..success(request)
    })
}

/// Containers from `containerID` on, in order of their ids.
fn list_container(
    node: &Node,
    request: &ContainerCommandRequestProto,
) -> ContainerCommandResponseProto {
    let asked = request.list_container.as_ref().map_or(MAX_LIST, |list| list.count());
    let start = ContainerId::from_wire(request.container_id);
    let mut ids = node.store.containers();
    ids.retain(|id| *id >= start);
    ids.sort_unstable();
    ids.truncate(asked.min(MAX_LIST) as usize);
    // A container deleted meanwhile is left out.
    let container_data = ids
        .into_iter()
        .filter_map(|id| node.store.container(id).ok())
        .map(|container| container.to_wire())
        .collect();
    ContainerCommandResponseProto {
        list_container: Some(dn::ListContainerResponseProto { container_data }),
        ..success(request)
    }
}

/// Sends bytes back: the client's when no size is asked for, zeros otherwise.
async fn echo(node: &Node, command: &Command) -> Result<Result<Answer, Failure>, Refusal> {
    let Some(echo) = &command.request.echo else {
        return Ok(Err(Failure::malformed("echo is missing")));
    };
    let sleep = Duration::from_millis(u64::try_from(echo.sleep_time_ms()).unwrap_or(0));
    if !sleep.is_zero() {
        tokio::time::sleep(sleep.min(MAX_ECHO_SLEEP)).await;
    }
    let size = usize::try_from(echo.payload_size_resp()).unwrap_or(0).saturating_mul(1024);
    let size = size.min(MAX_CHUNK);
    let _room = node.read_budget.take(size, command.deadline).await?;
    let payload = match size {
        0 => echo.payload.clone().unwrap_or_default(),
        size => Bytes::from(vec![0; size]),
    };
    let response = ContainerCommandResponseProto {
        echo: Some(dn::EchoResponseProto { payload: Some(payload) }),
        ..success(&command.request)
    };
    Ok(Ok(Answer::message(response)))
}
