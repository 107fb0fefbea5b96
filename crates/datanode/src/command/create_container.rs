//! CreateContainer.

use bytes::Bytes;
use proto::datanode::{
    ContainerCommandRequestProto, ContainerCommandResponseProto, CreateContainerResponseProto,
    container_data_proto::State,
};
use types::ContainerId;

use super::answer::{Failure, success};
use super::check::Check;
use super::{Command, CommandContext, Done, ensure, part};
use containerstore::{ApplyBatch, InitialState, Position};

/// Checks it before it is proposed or carried out.
pub(super) fn check(check: &Check<'_>, command: &Command) -> Result<(), Failure> {
    let request = &command.request;
    let create = part(request.create_container.as_ref(), "createContainer")?;
    check.replica_index(create.replica_index())
}

/// Applies an entry of a pipeline's log.
pub(super) fn apply(
    batch: &mut ApplyBatch<'_>,
    at: Position,
    request: &ContainerCommandRequestProto,
    _: &Bytes,
) -> Done {
    let container = ContainerId::from_wire(request.container_id);
    let create = part(request.create_container.as_ref(), "createContainer")?;
    batch.create_container(at, container, create.replica_index())?;
    Ok(ContainerCommandResponseProto {
        create_container: Some(CreateContainerResponseProto {}),
        ..success(request)
    })
}

/// Carries it out on this replica alone; durable when it returns.
pub(super) async fn direct(context: &CommandContext<'_>, command: &Command) -> Done {
    let request = &command.request;
    let create = part(request.create_container.as_ref(), "createContainer")?;
    let state = match create.state {
        Some(state) if state == State::Recovering as i32 => InitialState::Recovering,
        _ => InitialState::Open,
    };
    ensure(context, ContainerId::from_wire(request.container_id), create.replica_index(), state)?;
    Ok(ContainerCommandResponseProto {
        create_container: Some(CreateContainerResponseProto {}),
        ..success(request)
    })
}
