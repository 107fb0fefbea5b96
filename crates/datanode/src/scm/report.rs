//! Reports to SCM: disks, containers, pipelines, and containers and pipelines to be closed.

use proto::scm_datanode as wire;
use proto::scm_datanode::container_replica_proto::State;
use rustc_hash::FxHashMap;
use types::{ContainerId, PipelineId};

use crate::node::Node;
use crate::pending_reports::Batch;

/// Last reported usage of the containers that are being written: usage is reported again when it
/// differs.
#[derive(Debug, Default)]
pub(crate) struct Told {
    used: FxHashMap<ContainerId, (i64, i64)>,
}

/// Returns the whole state, for registration.
pub(crate) fn registration(node: &Node, told: &mut Told) -> wire::ScmRegisterRequestProto {
    told.used.clear();
    wire::ScmRegisterRequestProto {
        datanode_details: node.details.load().to_wire(),
        node_report: disks(node),
        container_report: wire::ContainerReportsProto { reports: node.store.report() },
        pipeline_reports: pipelines(node, node.pipelines.ids()),
        data_node_layout_version: Some(layout()),
    }
}

/// A heartbeat with the reports of `batch`; `periodic` adds the disks and the usage of containers
/// being written.
pub(crate) fn heartbeat(
    node: &Node,
    batch: &Batch,
    told: &mut Told,
    periodic: bool,
) -> wire::ScmHeartbeatRequestProto {
    let mut replicas: Vec<_> = batch.containers.iter().map(|id| replica(node, *id)).collect();
    if periodic {
        replicas.extend(usage(node, told, &batch.containers));
    }
    let incremental = (!replicas.is_empty())
        .then_some(wire::IncrementalContainerReportProto { report: replicas });
    let statuses = (!batch.statuses.is_empty())
        .then(|| wire::CommandStatusReportsProto { cmd_status: batch.statuses.clone() });
    wire::ScmHeartbeatRequestProto {
        datanode_details: node.details.load().to_wire(),
        node_report: Some(disks(node)),
        container_report: None,
        incremental_container_report: incremental.into_iter().collect(),
        command_status_reports: statuses.into_iter().collect(),
        container_actions: full(batch),
        pipeline_actions: failed(batch),
        pipeline_reports: (!batch.pipelines.is_empty())
            .then(|| pipelines(node, batch.pipelines.iter().copied())),
        data_node_layout_version: None,
        command_queue_report: None,
        known_scms: None,
    }
}

/// Returns a heartbeat that SCM holds until it has a command.
pub(crate) fn waiting(node: &Node) -> wire::ScmHeartbeatRequestProto {
    wire::ScmHeartbeatRequestProto {
        datanode_details: node.details.load().to_wire(),
        ..Default::default()
    }
}

/// All pipelines of a node.
pub(crate) fn all_pipelines(node: &Node) -> wire::PipelineReportsProto {
    pipelines(node, node.pipelines.ids())
}

fn layout() -> wire::LayoutVersionProto {
    let version = crate::identity::LAYOUT_VERSION;
    wire::LayoutVersionProto { metadata_layout_version: version, software_layout_version: version }
}

fn disks(node: &Node) -> wire::NodeReportProto {
    wire::NodeReportProto {
        storage_report: node.store.storage_reports(),
        metadata_storage_report: node.pipelines.log_reports(),
        db_storage_report: Vec::new(),
    }
}

/// Returns a replica's present report; a removed one is DELETED.
fn replica(node: &Node, id: ContainerId) -> wire::ContainerReplicaProto {
    node.store.replica_report(id).unwrap_or_else(|| wire::ContainerReplicaProto {
        container_id: id.to_wire(),
        state: State::Deleted as i32,
        origin_node_id: Some(node.details.load().id.to_string()),
        ..Default::default()
    })
}

/// Returns the containers of the pipelines here whose usage differs from the last report.
fn usage(
    node: &Node,
    told: &mut Told,
    but: &rustc_hash::FxHashSet<ContainerId>,
) -> Vec<wire::ContainerReplicaProto> {
    let mut changed = Vec::new();
    let mut seen = FxHashMap::default();
    for id in node.pipelines.containers() {
        let Some(replica) = node.store.replica_report(id) else { continue };
        let now = (replica.used(), replica.key_count());
        if told.used.get(&id) != Some(&now) && !but.contains(&id) {
            changed.push(replica);
        }
        seen.insert(id, now);
    }
    told.used = seen;
    changed
}

fn pipelines(node: &Node, ids: impl IntoIterator<Item = PipelineId>) -> wire::PipelineReportsProto {
    let pipeline_report = ids
        .into_iter()
        .filter_map(|id| node.pipelines.get(id))
        .map(|pipeline| wire::PipelineReport {
            pipeline_id: pipeline.id.to_wire(),
            is_leader: pipeline.group.is_leader(),
            bytes_written: None,
        })
        .collect();
    wire::PipelineReportsProto { pipeline_report }
}

fn full(batch: &Batch) -> Option<wire::ContainerActionsProto> {
    let actions: Vec<_> = batch
        .full
        .iter()
        .map(|id| wire::ContainerAction {
            container_id: id.to_wire(),
            action: wire::container_action::Action::Close as i32,
            reason: Some(wire::container_action::Reason::ContainerFull as i32),
        })
        .collect();
    (!actions.is_empty()).then_some(wire::ContainerActionsProto { container_actions: actions })
}

fn failed(batch: &Batch) -> Option<wire::PipelineActionsProto> {
    let actions: Vec<_> = batch
        .failed
        .iter()
        .map(|(id, reason)| wire::PipelineAction {
            action: wire::pipeline_action::Action::Close as i32,
            close_pipeline: Some(wire::ClosePipelineInfo {
                pipeline_id: id.to_wire(),
                reason: Some(wire::close_pipeline_info::Reason::PipelineFailed as i32),
                detailed_reason: Some(reason.clone()),
            }),
        })
        .collect();
    (!actions.is_empty()).then_some(wire::PipelineActionsProto { pipeline_actions: actions })
}
