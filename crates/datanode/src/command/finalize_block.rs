//! FinalizeBlock: nothing more comes for a block.

use bytes::Bytes;
use proto::datanode::{
    ContainerCommandRequestProto, ContainerCommandResponseProto, FinalizeBlockResponseProto,
    Result as ResultCode,
};
use types::BlockId;

use super::answer::{Failure, success};
use super::check::Check;
use super::{Command, CommandContext, Done, part};
use containerstore::{ApplyBatch, Position};

/// Checks it before it is proposed or carried out.
pub(super) fn check(check: &Check<'_>, command: &Command) -> Result<(), Failure> {
    let request = &command.request;
    let finalize = part(request.finalize_block.as_ref(), "finalizeBlock")?;
    check.block(&finalize.block_id)
}

/// Applies an entry of a pipeline's log.
pub(super) fn apply(
    batch: &mut ApplyBatch<'_>,
    at: Position,
    request: &ContainerCommandRequestProto,
    _: &Bytes,
) -> Done {
    let finalize = part(request.finalize_block.as_ref(), "finalizeBlock")?;
    let id = BlockId::from_datanode(&finalize.block_id);
    let block_data = batch.finalize_block(at, id)?;
    Ok(ContainerCommandResponseProto {
        finalize_block: Some(FinalizeBlockResponseProto { block_data }),
        ..success(request)
    })
}

/// Carries it out on this replica alone; durable when it returns.
pub(super) async fn direct(context: &CommandContext<'_>, command: &Command) -> Done {
    let request = &command.request;
    let finalize = part(request.finalize_block.as_ref(), "finalizeBlock")?;
    let (store, id) = (context.store.clone(), BlockId::from_datanode(&finalize.block_id));
    let finalizing = tokio::task::spawn_blocking(move || store.finalize_direct(id)).await;
    let block_data = finalizing
        .map_err(|error| Failure::new(ResultCode::ContainerInternalError, error.to_string()))??;
    Ok(ContainerCommandResponseProto {
        finalize_block: Some(FinalizeBlockResponseProto { block_data }),
        ..success(request)
    })
}
