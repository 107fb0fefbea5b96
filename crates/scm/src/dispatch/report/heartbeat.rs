//! Heartbeats: proof of life, reports, and the way of commands to the node.
//!
//! A heartbeat with a report is answered immediately with the queued commands. One without any
//! waits for commands.

use placement::{Decision, OrderKind};
use proto::scm_datanode::command_status::Status;
use proto::scm_datanode::{
    ContainerBlocksDeletionAckProto, ScmHeartbeatRequestProto, ScmHeartbeatResponseProto,
};
use types::{ContainerId, DatanodeDetails, DatanodeId, PipelineId};

use super::convert;
use crate::command;
use crate::core::Core;
use crate::error::RequestError;
use crate::service_names as names;

/// Handles a heartbeat; the response may take a while if the heartbeat has no report.
pub async fn heartbeat(
    core: &Core,
    request: &ScmHeartbeatRequestProto,
) -> Result<ScmHeartbeatResponseProto, RequestError> {
    let details = DatanodeDetails::from_wire(&request.datanode_details)?;
    let node = details.id;
    let Some(shift) = core.cluster().heartbeat(node, core.clock.now()) else {
        let mut response = answer(core, request, node, &[]);
        response.commands.push(command::reregister(core.term()));
        return Ok(response);
    };
    if core.must_register(node) {
        let mut response = answer(core, request, node, &[]);
        response.commands.push(command::reregister(core.term()));
        return Ok(response);
    }
    if shift.is_some() {
        core.nodes_changed(node, "is healthy again");
    }
    let told = core.cluster().report_op_state(
        node,
        details.op_state,
        details.op_state_expiry,
        core.check_leader().is_ok(),
    );
    core.carry_out(told);
    if waits(request) {
        let commands = core.commands.wait(node, command::LONG_POLL_TIMEOUT);
        let orders = telemetry::stage("wait for commands", core.shutdown.until(commands)).await;
        return Ok(answer(core, request, node, &orders.unwrap_or_default()));
    }
    let decision = process_reports(core, node, request)?;
    core.carry_out(decision);
    if request.container_report.is_some() || request.pipeline_reports.is_some() {
        core.try_leave_safe_mode();
    }
    Ok(answer(core, request, node, &core.commands.drain(node)))
}

fn answer(
    core: &Core,
    request: &ScmHeartbeatRequestProto,
    node: DatanodeId,
    orders: &[OrderKind],
) -> ScmHeartbeatResponseProto {
    ScmHeartbeatResponseProto {
        datanode_uuid: node.to_string(),
        commands: core.to_commands(orders),
        term: Some(core.term()),
        // Apache Ozone DataNodes do not send `known_scms`.
        scms: request.known_scms.and_then(|known| core.scms_newer_than(known)),
    }
}

/// Returns `true` if the heartbeat only waits for commands.
pub fn waits(r: &ScmHeartbeatRequestProto) -> bool {
    r.node_report.is_none()
        && r.container_report.is_none()
        && r.incremental_container_report.is_empty()
        && r.command_status_reports.is_empty()
        && r.container_actions.is_none()
        && r.pipeline_actions.is_none()
        && r.pipeline_reports.is_none()
        && r.data_node_layout_version.is_none()
        && r.command_queue_report.is_none()
}

fn process_reports(
    core: &Core,
    node: DatanodeId,
    request: &ScmHeartbeatRequestProto,
) -> Result<Decision, RequestError> {
    let now = core.clock.now();
    let mut decision = Decision::default();
    let mut cluster = core.cluster();
    if let Some(report) = &request.node_report {
        cluster.nodes.set_storage(node, convert::storage(report));
        cluster.nodes.set_log_disks(node, convert::log_disks(report));
    }
    if let Some(report) = &request.pipeline_reports {
        let pipelines = convert::pipelines(report)?;
        decision.merge(cluster.report_pipelines(node, &pipelines));
    }
    if let Some(report) = &request.container_report {
        let replicas = convert::replicas(node, &report.reports);
        decision.merge(cluster.report_all_replicas(node, replicas, now));
    }
    for report in &request.incremental_container_report {
        let replicas = convert::replicas(node, &report.report);
        decision.merge(cluster.report_replicas(replicas, now));
    }
    let settles = !request.incremental_container_report.is_empty();
    for action in request.container_actions.iter().flat_map(|a| &a.container_actions) {
        // CLOSE is the only action there is.
        let id = ContainerId::from_wire(action.container_id);
        tracing::debug!(%node, container = %id, reason = ?action.reason, "node requests closing of the container");
        decision.merge(cluster.finalize_container(id, now));
    }
    for action in request.pipeline_actions.iter().flat_map(|a| &a.pipeline_actions) {
        if let Some(close) = &action.close_pipeline {
            let id = PipelineId::from_wire(&close.pipeline_id)?;
            tracing::warn!(%node, pipeline = %id, reason = close.detailed_reason(), "node requests closing of the pipeline");
            decision.merge(cluster.report_broken_pipeline(node, id, now));
        }
    }
    let statuses = request.command_status_reports.iter().flat_map(|r| &r.cmd_status);
    for status in statuses {
        if let Some(ack) = &status.block_deletion_ack {
            decision.merge(cluster.acknowledge_deletions(node, &results(ack)));
        } else if status.status() == Status::Failed {
            if let Some((id, targets)) = core.copies.remove(status.cmd_id) {
                for target in targets {
                    cluster.copy_failed(id, target, now);
                }
            }
            tracing::warn!(%node, command = ?status.r#type(), reason = status.msg(), "command failed on the node");
        }
    }
    let pipelines_on_their_way = cluster.pipelines.any_on_its_way();
    let containers_may_go = !cluster.replicas.none_is_empty();
    drop(cluster);
    if settles && pipelines_on_their_way {
        core.services.wake(names::PIPELINE_SCRUBBER);
    }
    if settles && containers_may_go {
        core.services.wake(names::REPLICATION_MANAGER);
    }
    Ok(decision)
}

fn results(ack: &ContainerBlocksDeletionAckProto) -> Vec<(u64, bool)> {
    ack.results.iter().map(|r| (r.tx_id as u64, r.success)).collect()
}
