//! What SCM asks for. Commands come at least once: carrying one out again must do no harm, and one
//! that is still under way is not started again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use proto::scm_datanode as wire;
use proto::scm_datanode::ScmCommandProto as Command;
use proto::scm_datanode::command_status::Status;
use proto::scm_datanode::scm_command_proto::Type;
use types::{ContainerId, DatanodeDetails, OperationalState, PipelineId};

use crate::daemon::Daemon;
use crate::node::Node;
use crate::pending_reports::Outbox;
use crate::pipeline::Membership;
use crate::storage::DeletionResult;

/// Carries a command out in the background; its outcome goes into the next heartbeat.
pub(crate) fn start(
    daemon: &Arc<Daemon>,
    node: &Arc<Node>,
    outbox: &Arc<Outbox>,
    command: Command,
) {
    let kind = command.command_type();
    let Some((id, subject)) = subject(&command) else {
        tracing::warn!(?kind, "SCM sent a command without its part, or one that is not known");
        return;
    };
    let Some(under_way) = node.under_way.begin(kind as i32, subject) else { return };
    let (daemon, node, outbox) = (daemon.clone(), node.clone(), outbox.clone());
    let shutdown = daemon.shutdown.clone();
    tokio::spawn(async move {
        let Some(outcome) = shutdown.until(carry_out(&daemon, &node, command)).await else {
            return;
        };
        drop(under_way);
        let (status, msg, ack) = match outcome {
            Ok(ack) => (Status::Executed, None, ack),
            Err(reason) => {
                tracing::warn!(?kind, id, reason, "a command of SCM failed");
                (Status::Failed, Some(reason), None)
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
}

type Ack = wire::ContainerBlocksDeletionAckProto;

/// The command's id and what it is about; `None` when its part is missing or it is unknown.
fn subject(command: &Command) -> Option<(i64, String)> {
    let pipeline =
        |id: &proto::hdds::PipelineId| PipelineId::from_wire(id).ok().map(|id| id.to_string());
    match command.command_type() {
        Type::DeleteBlocksCommand => {
            let delete = command.delete_blocks_command_proto.as_ref()?;
            Some((delete.cmd_id, delete.cmd_id.to_string()))
        }
        Type::CloseContainerCommand => {
            let close = command.close_container_command_proto.as_ref()?;
            Some((close.cmd_id, format!("{} {}", close.container_id, close.force())))
        }
        Type::DeleteContainerCommand => {
            let delete = command.delete_container_command_proto.as_ref()?;
            Some((delete.cmd_id, delete.container_id.to_string()))
        }
        Type::ReplicateContainerCommand => {
            let copy = command.replicate_container_command_proto.as_ref()?;
            let target = copy.target.as_ref().and_then(|t| DatanodeDetails::from_wire(t).ok())?;
            Some((copy.cmd_id, format!("{} {}", copy.container_id, target.id)))
        }
        Type::CreatePipelineCommand => {
            let create = command.create_pipeline_command_proto.as_ref()?;
            Some((create.cmd_id, pipeline(&create.pipeline_id)?))
        }
        Type::ClosePipelineCommand => {
            let close = command.close_pipeline_command_proto.as_ref()?;
            Some((close.cmd_id, pipeline(&close.pipeline_id)?))
        }
        Type::SetNodeOperationalStateCommand => {
            let set = command.set_node_operational_state_command_proto.as_ref()?;
            Some((set.cmd_id, set.cmd_id.to_string()))
        }
        Type::RefreshVolumeUsageInfo => {
            let refresh = command.refresh_volume_usage_command_proto.as_ref()?;
            Some((refresh.cmd_id, refresh.cmd_id.to_string()))
        }
        _ => None,
    }
}

async fn carry_out(
    daemon: &Arc<Daemon>,
    node: &Arc<Node>,
    command: Command,
) -> Result<Option<Ack>, String> {
    let (term, deadline_ms) = (command.term(), command.deadline_ms_since_epoch);
    if let Some(create) = command.create_pipeline_command_proto {
        let membership = Membership::from_wire(&create).map_err(|error| error.to_string())?;
        let id = membership.id;
        node.pipelines.create(membership).await.map_err(|error| error.to_string())?;
        node.pending_reports.pipeline_changed(id);
    } else if let Some(close) = command.close_pipeline_command_proto {
        let id = PipelineId::from_wire(&close.pipeline_id).map_err(|error| error.to_string())?;
        node.pipelines.close(id).await.map_err(|error| error.to_string())?;
    } else if let Some(close) = command.close_container_command_proto {
        let pipeline =
            PipelineId::from_wire(&close.pipeline_id).map_err(|error| error.to_string())?;
        let container = ContainerId::from_wire(close.container_id);
        node.close_container(container, pipeline, close.force())
            .await
            .map_err(|e| e.to_string())?;
    } else if let Some(delete) = command.delete_container_command_proto {
        let order = Order { daemon: daemon.clone(), term, deadline_ms };
        delete_container(node, &delete, order).await?;
    } else if let Some(copy) = command.replicate_container_command_proto {
        let order = Order { daemon: daemon.clone(), term, deadline_ms };
        copy_container(node, &copy, &order).await?;
    } else if let Some(delete) = command.delete_blocks_command_proto {
        return delete_blocks(node, delete).await.map(Some);
    } else if let Some(set) = command.set_node_operational_state_command_proto {
        let state = OperationalState::from_wire(set.node_operational_state);
        daemon
            .set_op_state(node, state, set.state_expiry_epoch_seconds)
            .map_err(|error| error.to_string())?;
    }
    // A refresh of the disks' usage needs nothing: every heartbeat looks anew.
    Ok(None)
}

/// Sends a container to the node that SCM names.
async fn copy_container(
    node: &Arc<Node>,
    copy: &wire::ReplicateContainerCommandProto,
    order: &Order,
) -> Result<(), String> {
    order.check()?;
    let id = ContainerId::from_wire(copy.container_id);
    let target = copy.target.as_ref().ok_or("the command names no target")?;
    let target = DatanodeDetails::from_wire(target).map_err(|error| error.to_string())?;
    let pushed = node.pusher.push(&node.store, id, &target).await;
    if pushed.is_err() {
        // The replica here may have turned out damaged.
        node.pending_reports.container_changed(id);
    }
    pushed.map_err(|error| error.to_string())
}

/// Until when an order counts.
struct Order {
    daemon: Arc<Daemon>,
    /// The term of the SCM that gave it.
    term: i64,
    /// Milliseconds since 1970; `None` is without end.
    deadline_ms: Option<i64>,
}

impl Order {
    /// # Errors
    /// When another SCM leads by now, or the one that gave it no longer expects it to be carried
    /// out: either may have ordered another replica away instead.
    fn check(&self) -> Result<(), String> {
        let latest = self.daemon.scm_term.load(Ordering::SeqCst);
        if latest > self.term {
            return Err(format!("ordered in term {}, an SCM leads in term {latest}", self.term));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        match self.deadline_ms {
            Some(deadline) if now > deadline => Err(format!("{} ms too late", now - deadline)),
            _ => Ok(()),
        }
    }
}

async fn delete_container(
    node: &Arc<Node>,
    delete: &wire::DeleteContainerCommandProto,
    order: Order,
) -> Result<(), String> {
    let id = ContainerId::from_wire(delete.container_id);
    let (store, force) = (node.store.clone(), delete.force);
    // The order may have waited for a thread.
    let delete = move || order.check().map(|()| store.delete_container(id, force));
    let done = tokio::task::spawn_blocking(delete).await;
    node.pending_reports.container_changed(id);
    match done {
        Ok(Err(too_late)) => Err(too_late),
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error))) if node.store.container(id).is_err() => {
            tracing::debug!(container = %id, %error, "the container to delete is not here");
            Ok(())
        }
        Ok(Ok(Err(error))) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Stage two of a deletion: the blocks are noted durably as deleted, then acknowledged; their space
/// comes back later, in the background.
async fn delete_blocks(
    node: &Arc<Node>,
    delete: wire::DeleteBlocksCommandProto,
) -> Result<Ack, String> {
    let (store, transactions) = (node.store.clone(), delete.deleted_blocks_transactions);
    let results = tokio::task::spawn_blocking(move || store.delete_blocks(&transactions)).await;
    let results = results.map_err(|error| error.to_string())?;
    let results = results
        .into_iter()
        .map(|DeletionResult { tx_id, container, outcome }| {
            if let Err(error) = &outcome {
                tracing::debug!(tx_id, %container, %error, "blocks cannot be deleted yet");
            }
            wire::container_blocks_deletion_ack_proto::DeleteBlockTransactionResult {
                tx_id,
                container_id: container.to_wire(),
                success: outcome.is_ok(),
            }
        })
        .collect();
    node.reclaim_soon();
    Ok(Ack { results, dn_id: node.details.load().id.to_string() })
}
