//! SCM's commands. They arrive at least once: carrying one out again must do no harm, and one that
//! is still in progress is not started again.
//!
//! The table of them is at the end; each has a file of its own.

mod close_container;
mod close_pipeline;
mod create_pipeline;
mod delete_blocks;
mod delete_container;
mod error;
mod order;
mod reconcile_container;
mod reconstruct_ec_containers;
mod refresh_volume_usage;
mod relocate;
mod replicate_container;
mod set_operational_state;

use std::sync::Arc;

use futures::future::BoxFuture;
use proto::scm_datanode as wire;
use proto::scm_datanode::ScmCommandProto as Command;
use proto::scm_datanode::command_status::Status;
use proto::scm_datanode::scm_command_proto::Type;
use types::WireError;

pub(crate) use error::CommandError;
use order::Order;

use crate::daemon::Daemon;
use crate::node::Node;
use crate::pending_reports::Outbox;

/// Additional response to SCM: the recorded deletions.
type Ack = wire::ContainerBlocksDeletionAckProto;

/// State that commands work on.
struct Context<'a> {
    node: &'a Arc<Node>,
    order: Order,
}

/// A command's part of the message, which contains all of its fields.
trait Carry {
    /// The number that its outcome is reported under.
    fn id(&self) -> i64;

    /// Subject of the command, to find the same one in progress.
    ///
    /// # Errors
    /// When the part is invalid.
    fn subject(&self) -> Result<String, WireError>;

    /// Carries it out.
    ///
    /// # Errors
    /// If the command fails; SCM receives the error.
    async fn carry_out(self, context: Context<'_>) -> Result<Option<Ack>, CommandError>;
}

/// Carries a command out in the background; its outcome goes into the next heartbeat.
pub(crate) fn start(
    daemon: &Arc<Daemon>,
    node: &Arc<Node>,
    outbox: &Arc<Outbox>,
    command: Command,
) {
    let kind = command.command_type();
    let (id, subject) = match subject(&command) {
        Some(Ok(known)) => known,
        Some(Err(error)) => {
            tracing::warn!(?kind, %error, "ignoring an invalid command of SCM");
            return;
        }
        None => {
            tracing::warn!(?kind, "ignoring a command of SCM that is incomplete or unknown");
            return;
        }
    };
    let Some(under_way) = node.under_way.begin(kind as i32, subject) else { return };
    let (daemon, node, outbox) = (daemon.clone(), node.clone(), outbox.clone());
    let shutdown = daemon.shutdown.clone();
    let work: BoxFuture<'static, ()> = Box::pin(async move {
        let (term, deadline_ms) = (command.term(), command.deadline_ms_since_epoch);
        let context = Context { node: &node, order: Order { daemon, term, deadline_ms } };
        let Some(outcome) = shutdown.until(carry_out(command, context)).await else {
            return;
        };
        drop(under_way);
        let (status, msg, ack) = match outcome {
            Ok(ack) => (Status::Executed, None, ack),
            Err(error) => {
                tracing::warn!(?kind, id, %error, "command of SCM failed");
                (Status::Failed, Some(error.to_string()), None)
            }
        };
        let status = wire::CommandStatus {
            cmd_id: id,
            status: status as i32,
            r#type: kind as i32,
            msg,
            block_deletion_ack: ack,
        };
        outbox.add(|batch| batch.statuses.push(status));
    });
    tokio::spawn(telemetry::root(kind.as_str_name(), work));
}

macro_rules! commands {
    (
        here { $($kind:ident => $part:ident,)* }
        elsewhere { $($elsewhere:ident,)* }
    ) => {
        /// Returns the command's number and its subject; `None` if its part is missing or this node
        /// does not carry it out.
        fn subject(command: &Command) -> Option<Result<(i64, String), WireError>> {
            match command.command_type() {
                $(Type::$kind => {
                    let part = command.$part.as_ref()?;
                    Some(part.subject().map(|subject| (part.id(), subject)))
                })*
                $(Type::$elsewhere)|* => None,
            }
        }

        async fn carry_out(
            command: Command,
            context: Context<'_>,
        ) -> Result<Option<Ack>, CommandError> {
            match command.command_type() {
                $(Type::$kind => match command.$part {
                    Some(part) => part.carry_out(context).await,
                    None => Ok(None),
                },)*
                $(Type::$elsewhere)|* => Ok(None),
            }
        }
    };
}

commands! {
    here {
        CreatePipelineCommand => create_pipeline_command_proto,
        ClosePipelineCommand => close_pipeline_command_proto,
        CloseContainerCommand => close_container_command_proto,
        DeleteContainerCommand => delete_container_command_proto,
        ReplicateContainerCommand => replicate_container_command_proto,
        ReconcileContainerCommand => reconcile_container_command_proto,
        ReconstructEcContainersCommand => reconstruct_ec_containers_command_proto,
        DeleteBlocksCommand => delete_blocks_command_proto,
        SetNodeOperationalStateCommand => set_node_operational_state_command_proto,
        RefreshVolumeUsageInfo => refresh_volume_usage_command_proto,
    }
    elsewhere {
        UnknownScmCommand,
        // The session registers again: `session.rs`.
        ReregisterCommand,
        FinalizeNewLayoutVersionCommand,
    }
}
