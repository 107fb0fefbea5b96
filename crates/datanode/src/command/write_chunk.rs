//! WriteChunk: bytes of a block, and its PutBlock when that rides along.

use bytes::Bytes;
use proto::datanode::{
    ContainerCommandRequestProto, ContainerCommandResponseProto, WriteChunkResponseProto,
};
use types::{BlockId, ContainerId};

use super::answer::{Failure, success};
use super::check::{Check, same_block};
use super::{Command, CommandContext, Done, ensure, part};
use containerstore::{ApplyBatch, InitialState, Position};

/// Checks it before it is proposed or carried out.
pub(super) fn check(check: &Check<'_>, command: &Command) -> Result<(), Failure> {
    let request = &command.request;
    let write = part(request.write_chunk.as_ref(), "writeChunk")?;
    let chunk = part(write.chunk_data.as_ref(), "chunkData")?;
    check.block(&write.block_id)?;
    if let Some(put) = &write.block {
        check.put(put)?;
        same_block(&write.block_id, &put.block_data.block_id)?;
    }
    check.data(chunk, command)?;
    Ok(check.store.check_writable(check.container)?)
}

/// Applies an entry of a pipeline's log.
pub(super) fn apply(
    batch: &mut ApplyBatch<'_>,
    at: Position,
    request: &ContainerCommandRequestProto,
    _: &Bytes,
) -> Done {
    let container = ContainerId::from_wire(request.container_id);
    let write = part(request.write_chunk.as_ref(), "writeChunk")?;
    batch.create_container(at, container, write.block_id.replica_index())?;
    let committed = match &write.block {
        Some(put) => Some(batch.put_block(at, &put.block_data)?),
        None => None,
    };
    Ok(ContainerCommandResponseProto {
        write_chunk: Some(WriteChunkResponseProto {
            committed_block_length: committed.map(|committed| committed.to_wire()),
        }),
        ..success(request)
    })
}

/// Carries it out on this replica alone; durable when it returns.
pub(super) async fn direct(context: &CommandContext<'_>, command: &Command) -> Done {
    let request = &command.request;
    let write = part(request.write_chunk.as_ref(), "writeChunk")?;
    let chunk = part(write.chunk_data.as_ref(), "chunkData")?;
    let block = BlockId::from_datanode(&write.block_id);
    ensure(context, block.container, write.block_id.replica_index(), InitialState::Open)?;
    context.store.write_chunk(block, chunk, command.payload.clone()).await?;
    let committed = match &write.block {
        Some(put) => Some(context.store.put_block_direct(&put.block_data).await?),
        None => None,
    };
    Ok(ContainerCommandResponseProto {
        write_chunk: Some(WriteChunkResponseProto {
            committed_block_length: committed.map(|committed| committed.to_wire()),
        }),
        ..success(request)
    })
}
