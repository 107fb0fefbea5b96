//! PutSmallFile: a whole small block.

use bytes::Bytes;
use container::chunks;
use proto::datanode::{
    ContainerCommandRequestProto, ContainerCommandResponseProto, PutSmallFileResponseProto,
};
use types::{BlockId, ContainerId};

use super::answer::{Failure, success};
use super::check::{Check, limit};
use super::{Command, CommandContext, Done, ensure, part};
use containerstore::{ApplyBatch, InitialState, Position};

/// Checks it before it is proposed or carried out.
pub(super) fn check(check: &Check<'_>, command: &Command) -> Result<(), Failure> {
    let request = &command.request;
    let put = part(request.put_small_file.as_ref(), "putSmallFile")?;
    check.put(&put.block)?;
    chunks::check_small(&put.block.block_data, &put.chunk_info).map_err(limit)?;
    check.data(&put.chunk_info, command)?;
    Ok(check.store.check_writable(check.container)?)
}

/// Applies an entry of a pipeline's log.
pub(super) fn apply(
    batch: &mut ApplyBatch<'_>,
    at: Position,
    request: &ContainerCommandRequestProto,
    payload: &Bytes,
) -> Done {
    let container = ContainerId::from_wire(request.container_id);
    let put = part(request.put_small_file.as_ref(), "putSmallFile")?;
    let block = &put.block.block_data;
    batch.create_container(at, container, block.block_id.replica_index())?;
    // A file too large for the log was written as a chunk before the entry was appended.
    let committed = if payload.len() as u64 == put.chunk_info.len {
        batch.put_small_file(at, block, &put.chunk_info, payload.clone())?
    } else {
        batch.put_block(at, block)?
    };
    Ok(ContainerCommandResponseProto {
        put_small_file: Some(PutSmallFileResponseProto {
            committed_block_length: committed.to_wire(),
        }),
        ..success(request)
    })
}

/// Carries it out on this replica alone; durable when it returns.
pub(super) async fn direct(context: &CommandContext<'_>, command: &Command) -> Done {
    let request = &command.request;
    let put = part(request.put_small_file.as_ref(), "putSmallFile")?;
    let wire = &put.block.block_data.block_id;
    let block = BlockId::from_datanode(wire);
    ensure(context, block.container, wire.replica_index(), InitialState::Open)?;
    context.store.write_chunk(block, &put.chunk_info, command.payload.clone()).await?;
    let committed = context.store.put_block_direct(&put.block.block_data).await?;
    Ok(ContainerCommandResponseProto {
        put_small_file: Some(PutSmallFileResponseProto {
            committed_block_length: committed.to_wire(),
        }),
        ..success(request)
    })
}
