//! DeleteContainer: deletes this replica.

use proto::datanode::{ContainerCommandResponseProto, DeleteContainerResponseProto};
use types::ContainerId;

use super::answer::{Failure, success};
use super::check::Check;
use super::{Command, CommandContext, Done};

/// Nothing is checked: whether the container may go is decided by its state.
pub(super) fn check(_: &Check<'_>, _: &Command) -> Result<(), Failure> {
    Ok(())
}

/// Carries it out on this replica alone; durable when it returns.
pub(super) async fn direct(context: &CommandContext<'_>, command: &Command) -> Done {
    let request = &command.request;
    let force = request.delete_container.as_ref().is_some_and(|delete| delete.force_delete());
    let id = ContainerId::from_wire(request.container_id);
    context.change_container(id, move |store, id| store.delete_container(id, force)).await?;
    Ok(ContainerCommandResponseProto {
        delete_container: Some(DeleteContainerResponseProto {}),
        ..success(request)
    })
}
