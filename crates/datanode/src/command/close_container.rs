//! CloseContainer: it takes no more writes.

use bytes::Bytes;
use proto::datanode::{
    CloseContainerResponseProto, ContainerCommandRequestProto, ContainerCommandResponseProto,
};
use types::ContainerId;

use super::answer::{Failure, success};
use super::check::Check;
use super::{Command, CommandContext, Done};
use containerstore::{ApplyBatch, Position};

/// Nothing is checked: every container may be closed.
pub(super) fn check(_: &Check<'_>, _: &Command) -> Result<(), Failure> {
    Ok(())
}

/// Applies an entry of a pipeline's log.
pub(super) fn apply(
    batch: &mut ApplyBatch<'_>,
    at: Position,
    request: &ContainerCommandRequestProto,
    _: &Bytes,
) -> Done {
    let container = ContainerId::from_wire(request.container_id);
    batch.close_container(at, container)?;
    Ok(ContainerCommandResponseProto {
        close_container: Some(CloseContainerResponseProto {
            hash: None,
            container_id: Some(request.container_id),
        }),
        ..success(request)
    })
}

/// Carries it out on this replica alone; durable when it returns.
pub(super) async fn direct(context: &CommandContext<'_>, command: &Command) -> Done {
    let request = &command.request;
    let id = ContainerId::from_wire(request.container_id);
    context.change_container(id, |store, id| store.close(id, None)).await?;
    Ok(ContainerCommandResponseProto {
        close_container: Some(CloseContainerResponseProto {
            hash: None,
            container_id: Some(request.container_id),
        }),
        ..success(request)
    })
}
