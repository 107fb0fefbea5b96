//! GetSmallFile: a small block with its list of chunks.

use proto::datanode as dn;
use proto::datanode::ContainerCommandResponseProto;
use types::BlockId;

use super::answer::{Answer, Failure, success};
use super::{Command, CommandContext, Read, check_replica};
use crate::settings::MAX_CHUNK;

/// Answers from this replica.
pub(super) async fn read(context: &CommandContext<'_>, command: &Command) -> Read {
    let Some(get) = &command.request.get_small_file else {
        return Ok(Err(Failure::malformed("getSmallFile is missing")));
    };
    if let Err(failure) = check_replica(context, &get.block.block_id) {
        return Ok(Err(failure));
    }
    let room = usize::try_from(context.settings.small_block_size).unwrap_or(MAX_CHUNK);
    let _room = context.read_budget.acquire(room, command.deadline).await?;
    let block = BlockId::from_datanode(&get.block.block_id);
    let wanted = (command.peer, block, 0);
    let timeout = context.late_reads.timeout(&wanted);
    let (data, chunk, bytes) = match context.store.get_small_file(block, timeout).await {
        Ok(found) => found,
        Err(error) => return Ok(Err(context.late_reads.note(wanted, error).into())),
    };
    if command.verify_reads
        && let Err(error) = context.store.verify_read(block, chunk.offset, &bytes)
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
