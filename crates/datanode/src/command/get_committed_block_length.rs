//! GetCommittedBlockLength: how much of a block is committed here.

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
    let get = part(request.get_committed_block_length.as_ref(), "getCommittedBlockLength")?;
    check_replica(context, &get.block_id)?;
    let length = context.store.committed_length(BlockId::from_datanode(&get.block_id))?;
    Ok(ContainerCommandResponseProto {
        get_committed_block_length: Some(dn::GetCommittedBlockLengthResponseProto {
            block_id: get.block_id,
            block_length: i64::try_from(length).unwrap_or(i64::MAX),
        }),
        ..success(request)
    })
}
