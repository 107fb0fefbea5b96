//! Commands that change something: through the Raft group of their pipeline, or directly.

use std::time::{Duration, Instant};

use multiraft::{Applied, Proposal, ProposeError};
use proto::datanode::{ContainerCommandRequestProto, Result as ResultCode, Type};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use types::{ContainerId, PipelineId};

use super::small;
use crate::command::{Answer, Class, Command, Failure, Refusal, check, registry};
use crate::node::Node;
use crate::pipeline::Pipeline;

/// Longest wait for a proposal when the caller gave no deadline.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Route of a change.
enum Route {
    /// Through the Raft group of a pipeline.
    Raft(std::sync::Arc<Pipeline>),
    /// To this replica only.
    Direct,
}

pub(super) async fn execute(node: &Node, command: Command) -> Result<Answer, Refusal> {
    let route = match route(node, &command) {
        Ok(route) => route?,
        Err(failure) => return Ok(Answer::message(failure.response(&command.request))),
    };
    match route {
        Route::Raft(pipeline) => match begin(node, &pipeline, command).await? {
            Begun::Proposed(proposed) => Ok(proposed.applied().await?.1),
            Begun::Answered(answer) => Ok(answer),
        },
        Route::Direct => {
            let room = node.write_budget.acquire(command.payload.len(), command.deadline);
            let _room = telemetry::wait("write budget", room).await?;
            Ok(telemetry::stage("write", Box::pin(direct(node, &command))).await)
        }
    }
}

/// Carries a change out on this replica alone.
async fn direct(node: &Node, command: &Command) -> Answer {
    let mut context = node.command_context();
    let done = match check::check(&context, command, None) {
        Ok(()) => {
            if command.class() != Some(Class::Local) {
                let container = ContainerId::from_wire(command.request.container_id);
                context.storage_type = node.storage_type_for(container).await;
            }
            registry::direct(&context, command).await
        }
        Err(failure) => Err(failure),
    };
    if command.class() == Some(Class::Local) {
        let container = ContainerId::from_wire(command.request.container_id);
        node.pending_reports.container_changed(container);
    }
    Answer::message(done.unwrap_or_else(|failure| failure.response(&command.request)))
}

/// Finds the route of a change. A container that belongs to a Raft group on this node is always
/// changed through that group, whatever the caller sends; deleting a replica is always local.
fn route(node: &Node, command: &Command) -> Result<Result<Route, Refusal>, Failure> {
    if command.class() == Some(Class::Local) {
        return Ok(Ok(Route::Direct));
    }
    let named = command.request.pipeline_id();
    let owner = || {
        let container = node.store.container(ContainerId::from_wire(command.request.container_id));
        container.ok().and_then(|container| container.info().pipeline)
    };
    let id: PipelineId = if named.is_empty() {
        match owner() {
            Some(id) => id,
            None => return Ok(Ok(Route::Direct)),
        }
    } else {
        named.parse().map_err(|_| Failure::malformed(format!("pipelineID {named:?} is no uuid")))?
    };
    if let Some(pipeline) = node.pipelines.get(id) {
        return Ok(Ok(Route::Raft(pipeline)));
    }
    // Without its group a container takes no writes any more, but may be closed.
    let closing = command.kind() == Some(Type::CloseContainer);
    let group_is_gone = named.is_empty() || closing;
    if group_is_gone && owner().is_none_or(|owner| !node.pipelines.has_group(owner)) {
        return Ok(Ok(Route::Direct));
    }
    Ok(Err(Refusal::NoPipeline(id)))
}

/// Replicates a command; returns the response of the state machine.
pub(crate) async fn through(pipeline: &Pipeline, command: Command) -> Result<Answer, Refusal> {
    Ok(propose(pipeline, command, None)?.applied().await?.1)
}

/// State of a command that was to be proposed.
pub(crate) enum Begun {
    /// It has its place in the order of the pipeline's changes.
    Proposed(Proposed),
    /// It is not proposed: this is why, or it waits for the command that belongs to it.
    Answered(Answer),
}

/// Waits for a permit, checks a command and assigns its place in the order.
pub(crate) async fn begin(
    node: &Node,
    pipeline: &Pipeline,
    command: Command,
) -> Result<Begun, Refusal> {
    let room = node.write_budget.acquire(command.payload.len(), command.deadline);
    let room = telemetry::wait("write budget", room).await?;
    match check::check(&node.command_context(), &command, Some(pipeline.id)) {
        Ok(()) => small::submit(node, pipeline, command, room),
        Err(failure) => Ok(Begun::Answered(Answer::message(failure.response(&command.request)))),
    }
}

/// A command on its way through the Raft group.
pub(crate) struct Proposed {
    pipeline: PipelineId,
    request: Box<ContainerCommandRequestProto>,
    receiver: oneshot::Receiver<Result<Applied, ProposeError>>,
    deadline: Instant,
    _room: Option<OwnedSemaphorePermit>,
}

pub(super) fn propose(
    pipeline: &Pipeline,
    command: Command,
    room: Option<OwnedSemaphorePermit>,
) -> Result<Proposed, Refusal> {
    let Command { header, request, payload, deadline, .. } = command;
    let receiver = match pipeline.group.submit(Proposal { header, payload, ..Proposal::default() })
    {
        Ok(receiver) => receiver,
        // The command's own failure, as if the log had returned it later.
        Err(error @ ProposeError::Log(_)) => {
            let (sender, receiver) = oneshot::channel();
            let _ = sender.send(Err(error));
            receiver
        }
        Err(error) => return Err(Refusal::of_proposal(pipeline.id, error)),
    };
    let deadline = deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
    Ok(Proposed { pipeline: pipeline.id, request, receiver, deadline, _room: room })
}

impl Proposed {
    /// Waits until it is applied; its index in the log, when it came there, and the answer.
    pub async fn applied(self) -> Result<(Option<u64>, Answer), Refusal> {
        let applied = tokio::time::timeout_at(self.deadline.into(), self.receiver);
        let answer = match telemetry::stage("replicate", applied).await {
            Ok(answer) => answer.unwrap_or(Err(ProposeError::Shutdown)),
            Err(_) => return Err(Refusal::Unknown("no quorum answered in time".to_owned())),
        };
        let failure = match answer {
            Ok(applied) => {
                let answer = small::as_asked(&self.request, Answer::encoded(applied.response));
                return Ok((Some(applied.index), answer));
            }
            Err(ProposeError::Payload(error)) => payload_failure(&error),
            // The log takes entries again once there is space; until then clients use other
            // pipelines.
            Err(ProposeError::Log(reason)) => Failure::new(ResultCode::DiskOutOfSpace, reason),
            Err(error) => return Err(Refusal::of_proposal(self.pipeline, error)),
        };
        Ok((None, Answer::message(failure.response(&self.request))))
    }
}

/// The command's own failure within the error of its payload store.
fn payload_failure(error: &std::io::Error) -> Failure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Failure>()) {
        Some(failure) => failure.clone(),
        None => Failure::new(ResultCode::IoException, error.to_string()),
    }
}
