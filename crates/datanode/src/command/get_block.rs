//! GetBlock: the list of a block's chunks.

use proto::datanode as dn;
use proto::datanode::ContainerCommandResponseProto;
use types::BlockId;

use super::answer::{Answer, success};
use super::{Command, CommandContext, Done, Read, check_replica, part};

/// Answers from this replica.
pub(super) async fn read(context: &CommandContext<'_>, command: &Command) -> Read {
    Ok(answer(context, command).await.map(Answer::message))
}

async fn answer(context: &CommandContext<'_>, command: &Command) -> Done {
    let request = &command.request;
    let get = part(request.get_block.as_ref(), "getBlock")?;
    check_replica(context, &get.block_id)?;
    let block = BlockId::from_datanode(&get.block_id);
    let wanted = (command.peer, block, u64::MAX);
    let timeout = context.late_reads.timeout(&wanted);
    let found = context.store.find_block(block, timeout).await;
    let block_data = found.map_err(|error| context.late_reads.note(wanted, error))?;
    Ok(ContainerCommandResponseProto {
        get_block: Some(dn::GetBlockResponseProto { block_data }),
        ..success(request)
    })
}
