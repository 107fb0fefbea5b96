//! The clients' and administrators' endpoint: containers, pipelines, nodes, safe mode.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use framed::message::{decode, reply};
use framed::{Call, Reply, Status as Refusal};
use proto::container_location::scm_container_location_response::Status;
use proto::container_location::{ScmContainerLocationRequest, ScmContainerLocationResponse, Type};

use crate::admin::{
    balancer, container, deletion, info, leadership, members, node, pipeline, replication, report,
    safemode, upgrade, workflow,
};
use crate::core::Core;
use crate::error::RequestError;

/// Answers a framed call: a refusal is told in the answer where the protocol has words for it.
pub async fn answer(core: &Arc<Core>, call: Call) -> Result<Reply, Refusal> {
    let request: ScmContainerLocationRequest = decode(call.header)?;
    let (cmd_type, trace_id) = (request.cmd_type, request.trace_id.clone());
    let error = match respond(core, request, call.peer, call.received).await {
        Ok(response) => return Ok(reply(&response)),
        Err(error) => error,
    };
    let Some(status) = error.location_status() else { return Err(error.to_status()) };
    Ok(reply(&ScmContainerLocationResponse {
        cmd_type,
        trace_id,
        success: Some(false),
        message: Some(error.to_string()),
        status: status as i32,
        ..Default::default()
    }))
}

/// Answers a request, whatever endpoint it came through: each has its own way to tell of a refusal.
pub async fn respond(
    core: &Arc<Core>,
    request: ScmContainerLocationRequest,
    peer: SocketAddr,
    received: Instant,
) -> Result<ScmContainerLocationResponse, RequestError> {
    let kind = request.cmd_type();
    let mut measured = core.metrics.client.call(kind.as_str_name(), received);
    measured.started();
    let mut response =
        ScmContainerLocationResponse { trace_id: request.trace_id.clone(), ..Default::default() };
    response.set_cmd_type(kind);
    response.set_status(Status::Ok);
    let result = dispatch(core, kind, request, &mut response).await;
    if let Err(error) = &result {
        tracing::info!(%peer, method = kind.as_str_name(), %error, "request refused");
    }
    measured.finish(result.is_ok());
    result.map(|()| response)
}

/// Whether a type may be asked of an SCM that does not lead, as in Ozone.
fn needs_leader(kind: Type) -> bool {
    !matches!(
        kind,
        Type::ForceExitSafeMode
            | Type::InSafeMode
            | Type::GetSafeModeRuleStatuses
            | Type::StartReplicationManager
            | Type::StopReplicationManager
            | Type::GetScmInfo
            | Type::GetMetrics
    )
}

async fn dispatch(
    core: &Arc<Core>,
    kind: Type,
    r: ScmContainerLocationRequest,
    out: &mut ScmContainerLocationResponse,
) -> Result<(), RequestError> {
    if needs_leader(kind) {
        core.check_leader()?;
    }
    let m = || RequestError::Invalid(format!("{} request without its message", kind.as_str_name()));
    match kind {
        Type::AllocateContainer => {
            out.container_response =
                Some(container::create(core, &r.container_request.ok_or_else(m)?).await?);
        }
        Type::GetContainer => {
            out.get_container_response =
                Some(container::get(core, &r.get_container_request.ok_or_else(m)?)?);
        }
        Type::GetContainerWithPipeline => {
            let body = r.get_container_with_pipeline_request.ok_or_else(m)?;
            out.get_container_with_pipeline_response = Some(container::locate(core, &body)?);
        }
        Type::GetContainerWithPipelineBatch => {
            let body = r.get_container_with_pipeline_batch_request.ok_or_else(m)?;
            out.get_container_with_pipeline_batch_response =
                Some(container::locate_batch(core, &body)?);
        }
        Type::GetExistContainerWithPipelinesInBatch => {
            let body = r.get_exist_container_with_pipelines_in_batch_request.ok_or_else(m)?;
            out.get_exist_container_with_pipelines_in_batch_response =
                Some(container::locate_existing(core, &body));
        }
        Type::ListContainer => {
            let body = r.scm_list_container_request.ok_or_else(m)?;
            out.scm_list_container_response = Some(container::list(core, &body)?);
        }
        Type::ListContainerIDs => {
            let body = r.scm_list_container_i_ds_request.ok_or_else(m)?;
            out.scm_list_container_i_ds_response = Some(container::list_ids(core, &body));
        }
        Type::GetContainerCount | Type::GetClosedContainerCount => {
            let state = r.get_container_count_request.and_then(|b| b.state);
            out.get_container_count_response = Some(container::count(core, kind, state));
        }
        Type::GetContainerReplicas => {
            let body = r.get_container_replicas_request.ok_or_else(m)?;
            out.get_container_replicas_response = Some(container::replicas(core, &body)?);
        }
        Type::CloseContainer => {
            let body = r.scm_close_container_request.ok_or_else(m)?;
            out.scm_close_container_response = Some(container::close(core, &body).await?);
        }
        Type::GetReplicationManagerReport => {
            out.get_replication_manager_report_response = Some(report::report(core));
        }
        Type::QueryNode => {
            out.node_query_response = Some(node::query(core, &r.node_query_request.ok_or_else(m)?));
        }
        Type::SingleNodeQuery => {
            let body = r.single_node_query_request.ok_or_else(m)?;
            out.single_node_query_response = Some(node::query_one(core, &body)?);
        }
        Type::DatanodeUsageInfo => {
            let body = r.datanode_usage_info_request.ok_or_else(m)?;
            out.datanode_usage_info_response = Some(node::usage(core, &body)?);
        }
        Type::AllocatePipeline => {
            let body = r.pipeline_request.ok_or_else(m)?;
            out.pipeline_response = Some(pipeline::create(core, &body).await?);
        }
        Type::ListPipelines => out.list_pipeline_response = Some(pipeline::list(core)),
        Type::GetPipeline => {
            let body = r.get_pipeline_request.ok_or_else(m)?;
            out.get_pipeline_response = Some(pipeline::get(core, &body)?);
        }
        Type::ActivatePipeline => {
            let id = r.activate_pipeline_request.ok_or_else(m)?.pipeline_id;
            out.activate_pipeline_response = Some(pipeline::activate(core, &id).await?);
        }
        Type::DeactivatePipeline => {
            let id = r.deactivate_pipeline_request.ok_or_else(m)?.pipeline_id;
            out.deactivate_pipeline_response = Some(pipeline::deactivate(core, &id).await?);
        }
        Type::ClosePipeline => {
            let id = r.close_pipeline_request.ok_or_else(m)?.pipeline_id;
            out.close_pipeline_response = Some(pipeline::close(core, &id).await?);
        }
        Type::TransferLeadership => {
            let body = r.transfer_scm_leadership_request.ok_or_else(m)?;
            out.transfer_scm_leadership_response = Some(leadership::transfer(core, &body).await?);
        }
        Type::DecommissionScm => {
            let body = r.decommission_scm_request.ok_or_else(m)?;
            out.decommission_scm_response = Some(members::decommission(core, &body).await?);
        }
        Type::GetScmInfo => out.get_scm_info_response = Some(info::scm_info(core)),
        Type::GetMetrics => {
            let query = r.get_metrics_request.and_then(|b| b.query);
            out.get_metrics_response = Some(info::metrics(core, query.as_deref()));
        }
        Type::InSafeMode => out.in_safe_mode_response = Some(safemode::status(core)),
        Type::ForceExitSafeMode => {
            out.force_exit_safe_mode_response = Some(safemode::exit(core));
        }
        Type::GetSafeModeRuleStatuses => {
            out.get_safe_mode_rule_statuses_response = Some(safemode::rules(core));
        }
        Type::GetDeletedBlocksTransactionSummary => {
            out.get_deleted_blocks_txn_summary_response = Some(deletion::summary(core));
        }
        Type::GetFailedDeletedBlocksTransaction => {
            let body = r.get_failed_deleted_blocks_txn_request.ok_or_else(m)?;
            out.get_failed_deleted_blocks_txn_response = Some(deletion::failed(core, &body));
        }
        Type::ResetDeletedBlockRetryCount => {
            let body = r.reset_deleted_block_retry_count_request.ok_or_else(m)?;
            out.reset_deleted_block_retry_count_response = Some(deletion::reset(core, &body));
        }
        Type::StartReplicationManager => {
            out.start_replication_manager_response = Some(replication::start(core));
        }
        Type::StopReplicationManager => {
            out.stop_replication_manager_response = Some(replication::stop(core));
        }
        Type::GetReplicationManagerStatus => {
            out.replication_manager_status_response = Some(replication::status(core));
        }
        Type::FinalizeScmUpgrade => {
            out.finalize_scm_upgrade_response = Some(upgrade::finalize());
        }
        Type::QueryUpgradeFinalizationProgress => {
            out.query_upgrade_finalization_progress_response = Some(upgrade::progress());
        }
        Type::StartContainerBalancer => {
            out.start_container_balancer_response = Some(balancer::start());
        }
        Type::StopContainerBalancer => {
            out.stop_container_balancer_response = Some(balancer::stop());
        }
        Type::GetContainerBalancerStatus => {
            out.container_balancer_status_response = Some(balancer::status());
        }
        Type::GetContainerBalancerStatusInfo => {
            out.container_balancer_status_info_response = Some(balancer::status_info());
        }
        Type::DecommissionNodes => {
            let body = r.decommission_nodes_request.ok_or_else(m)?;
            out.decommission_nodes_response = Some(workflow::decommission(core, &body));
        }
        Type::RecommissionNodes => {
            let body = r.recommission_nodes_request.ok_or_else(m)?;
            out.recommission_nodes_response = Some(workflow::recommission(core, &body));
        }
        Type::StartMaintenanceNodes => {
            let body = r.start_maintenance_nodes_request.ok_or_else(m)?;
            out.start_maintenance_nodes_response = Some(workflow::maintenance(core, &body));
        }
        Type::GetContainersOnDecomNode => {
            let body = r.get_containers_on_decom_node_request.ok_or_else(m)?;
            out.get_containers_on_decom_node_response = Some(workflow::containers(core, &body)?);
        }
        Type::ReconcileContainer => {
            let body = r.reconcile_container_request.ok_or_else(m)?;
            return Err(container::reconcile(core, &body));
        }
        other => return Err(RequestError::Unsupported(other.as_str_name().to_owned())),
    }
    Ok(())
}
