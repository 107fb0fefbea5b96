//! Reports of the wire as the rules take them.

use placement::{Replica, ReplicaState, Storage};
use proto::scm_datanode::{
    ContainerReplicaProto, NodeReportProto, PipelineReportsProto, StorageReportProto,
};
use types::{ContainerId, DatanodeId, PipelineId, StorageType, WireError};

/// The data directories of a node.
pub fn storage(report: &NodeReportProto) -> Vec<Storage> {
    let one = |s: &StorageReportProto| Storage {
        id: s.storage_uuid.clone(),
        location: s.storage_location.clone(),
        storage_type: storage_type(s.storage_type),
        capacity: s.capacity(),
        used: s.scm_used(),
        remaining: s.remaining(),
        committed: s.committed(),
        free_space_to_spare: s.free_space_to_spare(),
        reserved: s.reserved(),
        fs_capacity: s.fs_capacity(),
        fs_available: s.fs_available(),
        failed: s.failed(),
    };
    report.storage_report.iter().map(one).collect()
}

/// The storage types of the disks whose Raft log directories work; `None` from a node that does not
/// report them.
pub fn log_disks(report: &NodeReportProto) -> Option<Vec<StorageType>> {
    let dirs = &report.metadata_storage_report;
    let works = dirs.iter().filter(|d| !d.failed());
    (!dirs.is_empty()).then(|| works.map(|d| storage_type(d.storage_type)).collect())
}

/// An unknown type of disk counts as the default one, as all did before there were types.
fn storage_type(reported: Option<i32>) -> StorageType {
    reported.and_then(|of| StorageType::from_wire(of).ok()).unwrap_or_default()
}

/// The pipelines of a report, and whether the node leads each.
pub fn pipelines(report: &PipelineReportsProto) -> Result<Vec<(PipelineId, bool)>, WireError> {
    let reports = report.pipeline_report.iter();
    reports.map(|p| Ok((PipelineId::from_wire(&p.pipeline_id)?, p.is_leader))).collect()
}

/// The replicas of a report. One in a state of a later release is skipped.
pub fn replicas(
    node: DatanodeId,
    reports: &[ContainerReplicaProto],
) -> Vec<(ContainerId, Replica)> {
    let one = |r: &ContainerReplicaProto| {
        let Some(state) = ReplicaState::from_wire(r.state) else {
            tracing::warn!(%node, container = r.container_id, state = r.state, "replica in an unknown state");
            return None;
        };
        let keys = r.key_count().max(0) as u64;
        let replica = Replica {
            node,
            state,
            used_bytes: r.used().max(0) as u64,
            keys,
            sequence_id: r.block_commit_sequence_id(),
            origin: r.origin_node_id().parse().unwrap_or(node),
            replica_index: r.replica_index().max(0) as u32,
            storage_type: storage_type(r.storage_type),
            is_empty: r.is_empty() && keys == 0,
            data_checksum: r.data_checksum(),
            delete_transaction: r.delete_transaction_id().max(0) as u64,
            lags: false,
        };
        Some((ContainerId::from_wire(r.container_id), replica))
    };
    reports.iter().filter_map(one).collect()
}
