//! The one table of the commands of `StorageContainerLocationProtocol`: a line for each [`Type`]
//! has the member that answers it, if it may be repeated, the required right, the part of the
//! request that it reads, the part of the response that it fills, and its function. A [`Type`]
//! without a line does not compile, nor does a line without a right, nor a duplicate one.
//!
//! Rights are those that `SCMClientProtocolServer` of Ozone 2.2.0 asks for, and the administrators'
//! for all else that changes something (`ResetDeletedBlockRetryCount`).

#![deny(unreachable_patterns)]

use std::sync::Arc;

use proto::container_location::{ScmContainerLocationRequest, ScmContainerLocationResponse, Type};
use service::Right;

use super::{
    balancer, container, deletion, info, leadership, members, node, pipeline, reconcile,
    replication, report, safemode, upgrade, workflow,
};
use crate::core::Core;
use crate::error::RequestError;

/// The member of the service that answers a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    /// The leader.
    Leader,
    /// Any member, with its own data, which may be stale; the same as in Ozone.
    Any,
}

/// Effect of a repeated command: idempotent or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retry {
    /// It sets a state, or reads: done twice, the outcome is the same.
    Repeatable,
    /// It makes one more thing each time.
    Once,
}

/// The part of `$request` that a command reads: `_` is none, `(name)` may be missing.
macro_rules! part {
    ($kind:ident, $request:ident, _) => {
        $request
    };
    ($kind:ident, $request:ident, ($part:ident)) => {
        $request.$part
    };
    ($kind:ident, $request:ident, $part:ident) => {
        $request.$part.ok_or_else(|| missing($kind))?
    };
}

macro_rules! commands {
    (
        |$kind:ident, $core:ident, $body:ident| {
            $($command:ident: $member:ident, $retry:ident, $right:ident, $request:tt
                => $response:ident = $answer:expr;)*
        }
        unsupported { $($unsupported:ident,)* }
    ) => {
        fn member(kind: Type) -> Member {
            match kind {
                $(Type::$command => Member::$member,)*
                $(Type::$unsupported)|* => Member::Leader,
            }
        }

        fn retry(kind: Type) -> Retry {
            match kind {
                $(Type::$command => Retry::$retry,)*
                $(Type::$unsupported)|* => Retry::Repeatable,
            }
        }

        fn right(kind: Type) -> Right {
            match kind {
                $(Type::$command => Right::$right,)*
                // Commands that are unsupported for all: other users get the refusal for the
                // missing right.
                $(Type::$unsupported)|* => Right::Admin,
            }
        }

        async fn fill(
            $core: &Arc<Core>,
            $kind: Type,
            request: ScmContainerLocationRequest,
            response: &mut ScmContainerLocationResponse,
        ) -> Result<(), RequestError> {
            match $kind {
                $(Type::$command => {
                    // A command without a part does not read the request.
                    #[allow(unused_variables)]
                    let $body = part!($kind, request, $request);
                    response.$response = Some($answer);
                })*
                $(Type::$unsupported)|* => {
                    return Err(RequestError::Unsupported($kind.as_str_name().to_owned()));
                }
            }
            Ok(())
        }
    };
}

commands! {
    |kind, core, body| {
        AllocateContainer: Leader, Once, Admin, container_request
            => container_response = container::create(core, &body).await?;
        GetContainer: Leader, Repeatable, ReadOnlyAdmin, get_container_request
            => get_container_response = container::get(core, &body)?;
        GetContainerWithPipeline: Leader, Repeatable, Everyone, get_container_with_pipeline_request
            => get_container_with_pipeline_response = container::locate(core, &body)?;
        GetContainerWithPipelineBatch: Leader, Repeatable, Everyone, get_container_with_pipeline_batch_request
            => get_container_with_pipeline_batch_response = container::locate_batch(core, &body)?;
        GetExistContainerWithPipelinesInBatch: Leader, Repeatable, Everyone,
            get_exist_container_with_pipelines_in_batch_request
            => get_exist_container_with_pipelines_in_batch_response =
                container::locate_existing(core, &body);
        ListContainer: Leader, Repeatable, Everyone, scm_list_container_request
            => scm_list_container_response = container::list(core, &body)?;
        ListContainerIDs: Leader, Repeatable, Everyone, scm_list_container_i_ds_request
            => scm_list_container_i_ds_response = container::list_ids(core, &body);
        GetContainerCount: Leader, Repeatable, Everyone, (get_container_count_request)
            => get_container_count_response =
                container::count(core, kind, body.and_then(|body| body.state));
        GetClosedContainerCount: Leader, Repeatable, Everyone, (get_container_count_request)
            => get_container_count_response =
                container::count(core, kind, body.and_then(|body| body.state));
        GetContainerReplicas: Leader, Repeatable, Everyone, get_container_replicas_request
            => get_container_replicas_response = container::replicas(core, &body)?;
        CloseContainer: Leader, Repeatable, Admin, scm_close_container_request
            => scm_close_container_response = container::close(core, &body).await?;
        ReconcileContainer: Leader, Repeatable, Admin, reconcile_container_request
            => reconcile_container_response = reconcile::reconcile(core, &body)?;
        GetReplicationManagerReport: Leader, Repeatable, Everyone, _
            => get_replication_manager_report_response = report::report(core);

        QueryNode: Leader, Repeatable, Everyone, node_query_request
            => node_query_response = node::query(core, &body);
        SingleNodeQuery: Leader, Repeatable, Everyone, single_node_query_request
            => single_node_query_response = node::query_one(core, &body)?;
        DatanodeUsageInfo: Leader, Repeatable, ReadOnlyAdmin, datanode_usage_info_request
            => datanode_usage_info_response = node::usage(core, &body)?;
        DecommissionNodes: Leader, Repeatable, Admin, decommission_nodes_request
            => decommission_nodes_response = workflow::decommission(core, &body).await?;
        RecommissionNodes: Leader, Repeatable, Admin, recommission_nodes_request
            => recommission_nodes_response = workflow::recommission(core, &body).await?;
        StartMaintenanceNodes: Leader, Repeatable, Admin, start_maintenance_nodes_request
            => start_maintenance_nodes_response = workflow::maintenance(core, &body).await?;
        GetContainersOnDecomNode: Leader, Repeatable, Everyone, get_containers_on_decom_node_request
            => get_containers_on_decom_node_response = workflow::containers(core, &body)?;

        AllocatePipeline: Leader, Once, Admin, pipeline_request
            => pipeline_response = pipeline::create(core, &body).await?;
        ListPipelines: Leader, Repeatable, Everyone, _ => list_pipeline_response = pipeline::list(core);
        GetPipeline: Leader, Repeatable, Everyone, get_pipeline_request
            => get_pipeline_response = pipeline::get(core, &body)?;
        ActivatePipeline: Leader, Repeatable, Admin, activate_pipeline_request
            => activate_pipeline_response = pipeline::activate(core, &body.pipeline_id).await?;
        DeactivatePipeline: Leader, Repeatable, Admin, deactivate_pipeline_request
            => deactivate_pipeline_response = pipeline::deactivate(core, &body.pipeline_id).await?;
        ClosePipeline: Leader, Repeatable, Admin, close_pipeline_request
            => close_pipeline_response = pipeline::close(core, &body.pipeline_id).await?;

        GetScmInfo: Any, Repeatable, Everyone, _ => get_scm_info_response = info::scm_info(core);
        GetMetrics: Any, Repeatable, Everyone, (get_metrics_request)
            => get_metrics_response =
                info::metrics(core, body.and_then(|body| body.query).as_deref());
        TransferLeadership: Leader, Repeatable, Admin, transfer_scm_leadership_request
            => transfer_scm_leadership_response = leadership::transfer(core, &body).await?;
        DecommissionScm: Leader, Repeatable, Admin, decommission_scm_request
            => decommission_scm_response = members::decommission(core, &body).await?;

        InSafeMode: Any, Repeatable, Everyone, _ => in_safe_mode_response = safemode::status(core);
        ForceExitSafeMode: Any, Repeatable, Admin, _
            => force_exit_safe_mode_response = safemode::exit(core);
        GetSafeModeRuleStatuses: Any, Repeatable, Everyone, _
            => get_safe_mode_rule_statuses_response = safemode::rules(core);

        GetDeletedBlocksTransactionSummary: Leader, Repeatable, Everyone, _
            => get_deleted_blocks_txn_summary_response = deletion::summary(core);
        GetFailedDeletedBlocksTransaction: Leader, Repeatable, Everyone, get_failed_deleted_blocks_txn_request
            => get_failed_deleted_blocks_txn_response = deletion::failed(core, &body);
        ResetDeletedBlockRetryCount: Leader, Repeatable, Admin, reset_deleted_block_retry_count_request
            => reset_deleted_block_retry_count_response = deletion::reset(core, &body);

        StartReplicationManager: Any, Repeatable, Admin, _
            => start_replication_manager_response = replication::start(core);
        StopReplicationManager: Any, Repeatable, Admin, _
            => stop_replication_manager_response = replication::stop(core);
        GetReplicationManagerStatus: Leader, Repeatable, Everyone, _
            => replication_manager_status_response = replication::status(core);

        FinalizeScmUpgrade: Leader, Repeatable, Admin, _
            => finalize_scm_upgrade_response = upgrade::finalize();
        QueryUpgradeFinalizationProgress: Leader, Repeatable, ReadOnlyAdmin, _
            => query_upgrade_finalization_progress_response = upgrade::progress();

        StartContainerBalancer: Leader, Repeatable, Admin, start_container_balancer_request
            => start_container_balancer_response = balancer::start(core, &body).await?;
        StopContainerBalancer: Leader, Repeatable, Admin, _
            => stop_container_balancer_response = balancer::stop(core).await?;
        GetContainerBalancerStatus: Leader, Repeatable, Everyone, _
            => container_balancer_status_response = balancer::status(core);
        GetContainerBalancerStatusInfo: Leader, Repeatable, Everyone, _
            => container_balancer_status_info_response = balancer::status_info(core);
    }
    unsupported { DeleteContainer, GetContainerToken, SuppressContainer, }
}

fn missing(kind: Type) -> RequestError {
    RequestError::Invalid(format!("{} request without its message", kind.as_str_name()))
}

/// Returns `true` if a command may be executed twice, e.g. after its first response was lost.
pub fn is_repeatable(kind: Type) -> bool {
    retry(kind) == Retry::Repeatable
}

/// Answers a command of a user, if the user is known: fills its part of `response`.
///
/// # Errors
/// When this member is not the leader and the command needs it, the user lacks the right, the
/// request lacks a required field, or the command refuses it.
pub async fn answer(
    core: &Arc<Core>,
    kind: Type,
    user: Option<&str>,
    request: ScmContainerLocationRequest,
    response: &mut ScmContainerLocationResponse,
) -> Result<(), RequestError> {
    if member(kind) == Member::Leader {
        core.check_leader()?;
    }
    core.access.check(right(kind), user)?;
    fill(core, kind, request, response).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number of the protocol has a right, and only commands that change nothing are open to
    /// all users.
    #[test]
    fn what_changes_something_is_for_administrators() {
        let kinds: Vec<Type> = (0..200).filter_map(|number| Type::try_from(number).ok()).collect();
        assert!(kinds.len() >= 46, "{}", kinds.len());
        let reads = ["Get", "List", "Query", "InSafeMode", "SingleNodeQuery", "DatanodeUsageInfo"];
        for kind in kinds {
            let name = format!("{kind:?}");
            let is_read = reads.iter().any(|read| name.starts_with(read));
            assert_eq!(
                right(kind) != Right::Admin,
                is_read && kind != Type::GetContainerToken,
                "{name}"
            );
        }
        for kind in
            [Type::GetContainer, Type::DatanodeUsageInfo, Type::QueryUpgradeFinalizationProgress]
        {
            assert_eq!(right(kind), Right::ReadOnlyAdmin, "{kind:?}");
        }
    }
}
