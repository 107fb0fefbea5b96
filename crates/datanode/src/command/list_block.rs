//! ListBlock: the blocks of a container.

use proto::datanode as dn;
use proto::datanode::{ContainerCommandRequestProto, ContainerCommandResponseProto};
use types::ContainerId;

use super::answer::{Answer, success};
use super::{Command, CommandContext, Done, MAX_LIST, Read, part};

/// Approximate limit of the records' bytes of one listing: the caller continues after the last one.
const MAX_LIST_BYTES: usize = 4 << 20;

/// Answers from this replica.
pub(super) async fn read(context: &CommandContext<'_>, command: &Command) -> Read {
    Ok(answer(context, &command.request).map(Answer::message))
}

fn answer(context: &CommandContext<'_>, request: &ContainerCommandRequestProto) -> Done {
    let list = part(request.list_block.as_ref(), "listBlock")?;
    let container = ContainerId::from_wire(request.container_id);
    let start = u64::try_from(list.start_local_id()).unwrap_or(0);
    let count = list.count.min(MAX_LIST) as usize;
    let block_data = context.store.list_block(container, start, count, MAX_LIST_BYTES)?;
    Ok(ContainerCommandResponseProto {
        list_block: Some(dn::ListBlockResponseProto { block_data }),
        ..success(request)
    })
}
