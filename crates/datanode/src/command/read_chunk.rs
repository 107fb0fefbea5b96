//! ReadChunk: bytes of a block.

use proto::datanode as dn;
use proto::datanode::{ContainerCommandResponseProto, Result as ResultCode};
use types::BlockId;

use super::answer::{Answer, Failure, success};
use super::{Command, CommandContext, Read, check_replica};
use crate::settings::MAX_CHUNK;

/// Answers from this replica.
pub(super) async fn read(context: &CommandContext<'_>, command: &Command) -> Read {
    let Some(read) = &command.request.read_chunk else {
        return Ok(Err(Failure::malformed("readChunk is missing")));
    };
    if let Err(failure) = check_replica(context, &read.block_id) {
        return Ok(Err(failure));
    }
    let length = usize::try_from(read.chunk_data.len).unwrap_or(usize::MAX);
    if length > MAX_CHUNK {
        let message = format!("a chunk of {length} bytes is longer than {MAX_CHUNK}");
        return Ok(Err(Failure::new(ResultCode::InvalidArgument, message)));
    }
    let _room = context.read_budget.acquire(length, command.deadline).await?;
    let block = BlockId::from_datanode(&read.block_id);
    let wanted = (command.peer, block, read.chunk_data.offset);
    let timeout = context.late_reads.timeout(&wanted);
    let bytes = match context.store.read_chunk(block, &read.chunk_data, timeout).await {
        Ok(bytes) => bytes,
        Err(error) => return Ok(Err(context.late_reads.note(wanted, error).into())),
    };
    if command.verify_reads
        && let Err(error) = context.store.verify_read(block, read.chunk_data.offset, &bytes)
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
