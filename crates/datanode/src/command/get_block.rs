//! GetBlock: the list of a block's chunks.

use proto::datanode as dn;
use proto::datanode::{ContainerCommandRequestProto, ContainerCommandResponseProto};
use types::BlockId;

use super::answer::{Answer, success};
use super::{Command, CommandContext, Done, Read, check_replica, part};

/// Answers from this replica.
pub(super) async fn read(context: &CommandContext<'_>, command: &Command) -> Read {
    Ok(answer(context, &command.request).map(Answer::message))
}

fn answer(context: &CommandContext<'_>, request: &ContainerCommandRequestProto) -> Done {
    let get = part(request.get_block.as_ref(), "getBlock")?;
    check_replica(context, &get.block_id)?;
    let block_data = context.store.get_block(BlockId::from_datanode(&get.block_id))?;
    Ok(ContainerCommandResponseProto {
        get_block: Some(dn::GetBlockResponseProto { block_data }),
        ..success(request)
    })
}
