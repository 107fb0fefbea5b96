//! PutBlock: the chunks written so far are a block's.

use bytes::Bytes;
use proto::datanode::{
    ContainerCommandRequestProto, ContainerCommandResponseProto, PutBlockResponseProto,
};
use types::ContainerId;

use super::answer::{Failure, success};
use super::check::Check;
use super::{Command, CommandContext, Done, ensure, part};
use containerstore::{ApplyBatch, InitialState, Position};

/// Checks it before it is proposed or carried out.
pub(super) fn check(check: &Check<'_>, command: &Command) -> Result<(), Failure> {
    let request = &command.request;
    // Not refused while the container is closing: its chunks may be here already, and the log
    // decides whether it precedes the close.
    let put = part(request.put_block.as_ref(), "putBlock")?;
    check.put(put)
}

/// Applies an entry of a pipeline's log.
pub(super) fn apply(
    batch: &mut ApplyBatch<'_>,
    at: Position,
    request: &ContainerCommandRequestProto,
    _: &Bytes,
) -> Done {
    let container = ContainerId::from_wire(request.container_id);
    let put = part(request.put_block.as_ref(), "putBlock")?;
    batch.create_container(at, container, put.block_data.block_id.replica_index())?;
    let committed = batch.put_block(at, &put.block_data)?;
    Ok(ContainerCommandResponseProto {
        put_block: Some(PutBlockResponseProto { committed_block_length: committed.to_wire() }),
        ..success(request)
    })
}

/// Carries it out on this replica alone; durable when it returns.
pub(super) async fn direct(context: &CommandContext<'_>, command: &Command) -> Done {
    let request = &command.request;
    let put = part(request.put_block.as_ref(), "putBlock")?;
    let block = &put.block_data.block_id;
    // This creates a replica of an erasure-coded group that has none of a short block's bytes. A
    // replica that received bytes has its container: if it was deleted meanwhile, the bytes were
    // deleted with it.
    let container = ContainerId::from_wire(block.container_id);
    let is_begun_by_this = put.block_data.chunks.iter().all(|chunk| chunk.len == 0);
    if is_begun_by_this || context.store.container(container).is_ok() {
        // Checks the index of the replica, too.
        ensure(context, container, block.replica_index(), InitialState::Open)?;
    }
    let committed = context.store.put_block_direct(&put.block_data).await?;
    Ok(ContainerCommandResponseProto {
        put_block: Some(PutBlockResponseProto { committed_block_length: committed.to_wire() }),
        ..success(request)
    })
}
