//! Commands that change something: through the Raft group of their pipeline, or directly.

use std::time::{Duration, Instant};

use multiraft::{Proposal, ProposeError};
use proto::datanode::{Result as ResultCode, Type};
use types::{ContainerId, PipelineId};

use super::{Answer, Command, Failure, Refusal, admit, direct};
use crate::node::Node;
use crate::pipeline::Pipeline;

/// Longest wait for a proposal when the caller gave no deadline.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where a change goes.
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
    let _room = node.write_budget.take(command.payload.len(), command.deadline).await?;
    if let Err(failure) = admit::check(node, &command) {
        return Ok(Answer::message(failure.response(&command.request)));
    }
    match route {
        Route::Raft(pipeline) => through(node, &pipeline, command).await,
        Route::Direct => Ok(direct::execute(node, command).await),
    }
}

/// Finds where a change goes. A container that belongs to a Raft group on this node is never
/// changed around it, whatever the caller says; deleting a replica is always local.
fn route(node: &Node, command: &Command) -> Result<Result<Route, Refusal>, Failure> {
    if command.kind() == Some(Type::DeleteContainer) {
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
    if group_is_gone && owner().is_none_or(|owner| node.pipelines.get(owner).is_none()) {
        return Ok(Ok(Route::Direct));
    }
    Ok(Err(Refusal::NoPipeline(id)))
}

/// Replicates a command; the answer is what the state machine said.
pub(crate) async fn through(
    node: &Node,
    pipeline: &Pipeline,
    command: Command,
) -> Result<Answer, Refusal> {
    let Command { header, request, payload, deadline } = command;
    let answer = match pipeline.group.submit(Proposal { header, payload }) {
        Ok(receiver) => {
            let deadline = deadline.unwrap_or_else(|| Instant::now() + PATIENCE);
            match tokio::time::timeout_at(deadline.into(), receiver).await {
                Ok(answer) => answer.unwrap_or(Err(ProposeError::Shutdown)),
                Err(_) => return Err(Refusal::Unknown("no quorum answered in time".to_owned())),
            }
        }
        Err(error) => Err(error),
    };
    match answer {
        Ok(applied) => Ok(Answer::encoded(applied.response)),
        Err(ProposeError::Payload(error)) => {
            Ok(Answer::message(payload_failure(&error).response(&request)))
        }
        // The log takes entries again once there is room; until then clients go elsewhere.
        Err(ProposeError::Log(reason)) => {
            Ok(Answer::message(Failure::new(ResultCode::DiskOutOfSpace, reason).response(&request)))
        }
        Err(error) => {
            if let ProposeError::Failed(reason) = &error {
                node.news.pipeline_failed(pipeline.id, reason.clone());
            }
            Err(Refusal::of_proposal(pipeline.id, error))
        }
    }
}

/// The command's own failure within the error of its payload store.
fn payload_failure(error: &std::io::Error) -> Failure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Failure>()) {
        Some(failure) => failure.clone(),
        None => Failure::new(ResultCode::IoException, error.to_string()),
    }
}
