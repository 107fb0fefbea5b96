//! ReadContainer: returns this replica's metadata.

use proto::datanode as dn;
use proto::datanode::{ContainerCommandRequestProto, ContainerCommandResponseProto};
use types::ContainerId;

use super::answer::{Answer, success};
use super::{Command, CommandContext, Done, Read};

/// Answers from this replica.
pub(super) async fn read(context: &CommandContext<'_>, command: &Command) -> Read {
    Ok(answer(context, &command.request).map(Answer::message))
}

fn answer(context: &CommandContext<'_>, request: &ContainerCommandRequestProto) -> Done {
    let container = context.store.container(ContainerId::from_wire(request.container_id))?;
    Ok(ContainerCommandResponseProto {
        read_container: Some(dn::ReadContainerResponseProto {
            container_data: Some(container.to_wire()),
        }),
        ..success(request)
    })
}
