//! A DataNode registers: at its start, and when SCM has forgotten it.

use placement::{Decision, node};
use proto::scm_datanode::scm_registered_response_proto::ErrorCode;
use proto::scm_datanode::{ScmRegisterRequestProto, ScmRegisteredResponseProto};
use types::DatanodeDetails;

use super::convert;
use crate::core::Core;
use crate::error::RequestError;

/// Handles a registration with its reports.
pub async fn register(
    core: &Core,
    request: &ScmRegisterRequestProto,
) -> Result<ScmRegisteredResponseProto, RequestError> {
    let mut details = DatanodeDetails::from_wire(&request.datanode_details)?;
    // The operator's word, not the node's.
    let location = core.options.racks.location(&[&details.ip, &details.host]).await;
    let schema = core.options.racks.schema();
    details.network_location = location.unwrap_or_else(|| schema.default_place());
    schema.check(&details.network_location).map_err(|why| {
        RequestError::Invalid(format!("datanode {} cannot register: {why}", details.host))
    })?;
    let id = details.id;
    let storage = convert::storage(&request.node_report);
    let pipelines = convert::pipelines(&request.pipeline_reports)?;
    let on_disk: Vec<_> = pipelines.iter().map(|(id, _)| *id).collect();
    let replicas = convert::replicas(id, &request.container_report.reports);
    let now = core.clock.now();

    let knows_leader = core.knows_leader(id);
    // Commands queued before the node restarted are decided again below.
    core.commands.clear(id);
    let mut decision = Decision::default();
    let registered = {
        let mut cluster = core.cluster();
        let (registered, rejoin) = cluster.register(details.clone(), storage, &on_disk, now);
        decision.merge(rejoin);
        cluster.nodes.set_log_disks(id, convert::log_disks(&request.node_report));
        decision.merge(cluster.report_pipelines(id, &pipelines));
        decision.merge(cluster.report_all_replicas(id, replicas, now));
        cluster.nodes.set_confirmed(id, knows_leader);
        registered
    };
    core.carry_out(decision);
    let what = match registered {
        node::Registered::New => "registered",
        node::Registered::Reregistered => "registered again",
        node::Registered::Moved => "registered again at another address",
    };
    core.nodes_changed(id, what);
    core.try_leave_safe_mode();

    let mut response = ScmRegisteredResponseProto {
        datanode_uuid: id.to_string(),
        cluster_id: core.identity.cluster_id.clone(),
        hostname: Some(details.host.clone()),
        ip_address: Some(details.ip.clone()),
        network_name: Some(id.to_string()),
        network_location: Some(details.network_location),
        ..ScmRegisteredResponseProto::default()
    };
    response.set_error_code(ErrorCode::Success);
    Ok(response)
}
