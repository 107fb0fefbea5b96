//! ListContainer: the containers of this DataNode.

use proto::datanode as dn;
use proto::datanode::{ContainerCommandRequestProto, ContainerCommandResponseProto};
use types::ContainerId;

use super::answer::{Answer, success};
use super::{Command, CommandContext, Done, MAX_LIST, Read};

/// Answers with containers from `containerID` on, in order of their ids.
pub(super) async fn read(context: &CommandContext<'_>, command: &Command) -> Read {
    Ok(answer(context, &command.request).map(Answer::message))
}

fn answer(context: &CommandContext<'_>, request: &ContainerCommandRequestProto) -> Done {
    let asked = request.list_container.as_ref().map_or(MAX_LIST, |list| list.count());
    let start = ContainerId::from_wire(request.container_id);
    let mut ids = context.store.containers();
    ids.retain(|id| *id >= start);
    ids.sort_unstable();
    ids.truncate(asked.min(MAX_LIST) as usize);
    // A container deleted meanwhile is skipped.
    let container_data = ids
        .into_iter()
        .filter_map(|id| context.store.container(id).ok())
        .map(|container| container.to_wire())
        .collect();
    Ok(ContainerCommandResponseProto {
        list_container: Some(dn::ListContainerResponseProto { container_data }),
        ..success(request)
    })
}
