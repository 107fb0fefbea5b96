//! Routing of commands: reads to this replica, changes through the Raft group of their pipeline or,
//! if none replicates the container, directly.
//!
//! * [`write`] carries changes out
//! * [`small`] joins small blocks that come as WriteChunk and PutBlock

pub(crate) mod small;
pub(crate) mod write;

use crate::command::{Answer, Class, Command, Refusal, registry};
use crate::node::Node;

/// Carries out a command. A command that fails is an [`Answer`] with Ozone's result code; a
/// [`Refusal`] means that this DataNode did not carry it out, or that the outcome is unknown.
///
/// # Errors
/// See [`Refusal`].
pub(crate) async fn execute(node: &Node, command: Command) -> Result<Answer, Refusal> {
    if command.is_late() {
        return Err(Refusal::Late);
    }
    match command.class() {
        Some(Class::Replicated | Class::Local) => write::execute(node, command).await,
        Some(Class::Read | Class::Unsupported) | None => {
            let context = node.command_context();
            let read = registry::read(&context, &command);
            let answer = telemetry::wait("read", read).await?;
            let failed = |failure: crate::command::Failure| {
                Answer::message(failure.response(&command.request))
            };
            Ok(answer.unwrap_or_else(failed))
        }
    }
}
