//! Values of `scm.db`.

use proto::hdds::{ContainerInfoProto, DatanodeDetailsProto, LifeCycleState, PipelineState};
use proto::scm_datanode::DeletedBlocksTransaction;
use serde_json::{Map, Value, json};
use types::PipelineId;

use super::{add, replication};

/// Milliseconds since 1970 as seconds, as the times of these classes are shown.
fn seconds(ms: u64) -> Value {
    // Three decimals of current times fit.
    (ms as f64 / 1000.0).into()
}

pub(super) fn container(container: &ContainerInfoProto) -> Value {
    let state = LifeCycleState::try_from(container.state).ok();
    let entered = container.state_enter_time.and_then(|ms| u64::try_from(ms).ok());
    let mut shown = json!({ "state": state.map_or("UNKNOWN", |s| s.as_str_name()) });
    let fields = &mut shown;
    add(fields, "stateEnterTime", entered.map(seconds));
    let pipeline = container.pipeline_id.as_ref().and_then(|id| PipelineId::from_wire(id).ok());
    add(fields, "pipelineID", pipeline.map(|id| json!({ "id": id.to_string() })));
    let ec = container.ec_replication_config.as_ref();
    let config = replication(container.replication_type, container.replication_factor, ec);
    add(fields, "replicationConfig", Some(config));
    add(fields, "usedBytes", Some(container.used_bytes.into()));
    add(fields, "numberOfKeys", Some(container.number_of_keys.into()));
    add(fields, "owner", Some(container.owner.as_str().into()));
    add(fields, "containerID", Some(container.container_id.into()));
    add(fields, "deleteTransactionId", Some(container.delete_transaction_id().into()));
    add(fields, "sequenceId", Some(container.sequence_id().into()));
    add(fields, "suppressed", Some(container.suppressed().into()));
    shown
}

pub(super) fn pipeline(pipeline: &proto::hdds::Pipeline) -> Value {
    let state = match pipeline.state() {
        PipelineState::PipelineAllocated => "ALLOCATED",
        PipelineState::PipelineOpen => "OPEN",
        PipelineState::PipelineDormant => "DORMANT",
        PipelineState::PipelineClosed => "CLOSED",
    };
    let indexes = pipeline.member_replica_indexes.iter().copied().chain(std::iter::repeat(0));
    let name = |node: &DatanodeDetailsProto| {
        let id = node.uuid.as_deref().unwrap_or_default();
        format!("{id}({}/{})", node.host_name, node.ip_address)
    };
    let members = pipeline.members.iter().zip(indexes);
    let members: Map<String, Value> = members.map(|(node, i)| (name(node), i.into())).collect();
    let id = PipelineId::from_wire(&pipeline.id).map(|id| id.to_string()).unwrap_or_default();
    let ec = pipeline.ec_replication_config.as_ref();
    json!({
        "id": { "id": id },
        "replicationConfig": replication(pipeline.r#type() as i32, Some(pipeline.factor() as i32), ec),
        "state": state,
        "replicaIndexes": members,
        "leaderId": { "uuid": pipeline.leader_id() },
        "creationTimestamp": seconds(pipeline.creation_time_stamp()),
    })
}

pub(super) fn deletion(deletion: &DeletedBlocksTransaction) -> Value {
    json!({
        "txID": deletion.tx_id,
        "containerID": deletion.container_id,
        "localID": deletion.local_id,
        "count": deletion.count(),
        "totalBlockSize": deletion.total_block_size(),
        "totalBlockReplicatedSize": deletion.total_block_replicated_size(),
        "totalSizePerReplica": deletion.total_size_per_replica(),
    })
}

pub(super) fn example_container() -> ContainerInfoProto {
    ContainerInfoProto {
        state_enter_time: Some(0),
        pipeline_id: Some(PipelineId::random().to_wire()),
        ..ContainerInfoProto::default()
    }
}

pub(super) fn example_pipeline() -> proto::hdds::Pipeline {
    proto::hdds::Pipeline { id: PipelineId::random().to_wire(), ..Default::default() }
}

pub(super) fn example_deletion() -> DeletedBlocksTransaction {
    DeletedBlocksTransaction { local_id: vec![0], ..DeletedBlocksTransaction::default() }
}
