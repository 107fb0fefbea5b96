//! Containers and their replicas.

use proto::hdds::{
    ContainerInfoProto, ContainerWithPipeline, LifeCycleState, ScmContainerReplicaProto,
    StorageTypeProto,
};
use serde_json::{Value, json};
use types::{DatanodeDetails, Pipeline, PipelineState, WireError};

use super::time::{millis, now};
use super::{node, pipeline, replication};

/// Name of a container's state.
pub(crate) fn state(c: &ContainerInfoProto) -> &'static str {
    LifeCycleState::try_from(c.state).map_or("UNKNOWN", |s| s.as_str_name())
}

/// A container.
pub(crate) fn container(c: &ContainerInfoProto) -> Value {
    let state = state(c);
    let mut value = json!({
        "state": state,
        "stateEnterTime": millis(c.state_enter_time().max(0) as u64),
        "replicationConfig": replication::wire(
            c.replication_type,
            c.replication_factor,
            c.ec_replication_config.as_ref(),
        ),
        "usedBytes": c.used_bytes,
        "numberOfKeys": c.number_of_keys,
        // SCM does not report it: Java's client shows the time of the response.
        "lastUsed": now(),
        "owner": c.owner,
        "containerID": c.container_id,
        "deleteTransactionId": c.delete_transaction_id(),
        "sequenceId": c.sequence_id(),
        // SCM does not report it, either: Java's client shows the initial value.
        "healthState": "HEALTHY",
        "open": state == "OPEN",
        "deleted": state == "DELETED",
    });
    // Ozone's containers have none.
    if c.storage_type() != StorageTypeProto::Disk {
        value["storageType"] = c.storage_type().as_str_name().into();
    }
    value
}

fn replica(r: &ScmContainerReplicaProto) -> Result<Value, WireError> {
    let details = DatanodeDetails::from_wire(&r.datanode_details)?;
    let mut value = json!({
        "containerID": r.container_id,
        "state": r.state,
        "datanodeDetails": node::details(&details),
        "placeOfBirth": node::id(&r.place_of_birth),
        "sequenceId": r.sequence_id,
        "keyCount": r.key_count,
        "bytesUsed": r.bytes_used,
        "replicaIndex": r.replica_index(),
        "dataChecksum": format!("{:x}", r.data_checksum()),
    });
    if r.storage_type() != StorageTypeProto::Disk {
        value["storageType"] = r.storage_type().as_str_name().into();
    }
    Ok(value)
}

/// `container info --json`.
pub(crate) fn info(
    c: &ContainerWithPipeline,
    replicas: &[ScmContainerReplicaProto],
) -> Result<Value, WireError> {
    let p = Pipeline::from_wire(&c.pipeline)?;
    let mut value = json!({
        "containerInfo": container(&c.container_info),
        "pipeline": pipeline::pipeline(&p),
        "replicas": replicas.iter().map(replica).collect::<Result<Vec<_>, _>>()?,
    });
    if let Some(id) = &c.container_info.pipeline_id {
        value["writePipelineID"] = json!({ "id": types::PipelineId::from_wire(id)?.to_string() });
    }
    Ok(value)
}

/// `container info` for people. `write` is the state of its pipeline, if that still exists.
pub(crate) fn text(
    c: &ContainerWithPipeline,
    replicas: &[ScmContainerReplicaProto],
    write: Option<PipelineState>,
) -> Result<String, WireError> {
    let p = Pipeline::from_wire(&c.pipeline)?;
    let info = &c.container_info;
    let nodes: Vec<String> = p.members.iter().map(|m| format!("{}/{}", m.id, m.host)).collect();
    let replicas = replicas
        .iter()
        .map(|r| {
            let d = DatanodeDetails::from_wire(&r.datanode_details)?;
            Ok(format!(
                "State: {}; ReplicaIndex: {}; SequenceId: {}; Origin: {}; Location: {}/{}{}",
                r.state,
                r.replica_index(),
                r.sequence_id,
                r.place_of_birth,
                d.id,
                d.host,
                storage(r.storage_type()),
            ))
        })
        .collect::<Result<Vec<_>, WireError>>()?;
    let write_pipeline = match &info.pipeline_id {
        Some(id) => format!(
            "Write PipelineId: {}\nWrite Pipeline State: {}\n",
            types::PipelineId::from_wire(id)?,
            pipeline::state(write.unwrap_or(PipelineState::Closed)),
        ),
        None => String::new(),
    };
    Ok(format!(
        "Container id: {}\nPipeline id: {}\n{write_pipeline}Container State: {}\nSequenceId: {}\n\
         Datanodes: [{}]\nReplicas: [{}]{}",
        info.container_id,
        p.id,
        state(info),
        info.sequence_id(),
        nodes.join(",\n"),
        replicas.join(",\n"),
        match info.storage_type() {
            StorageTypeProto::Disk => String::new(),
            of => format!("\nStorageType: {}", of.as_str_name()),
        },
    ))
}

/// The disk of a replica, if it is not of the default type.
fn storage(of: StorageTypeProto) -> String {
    match of {
        StorageTypeProto::Disk => String::new(),
        of => format!("; StorageType: {}", of.as_str_name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_in_ozones_order() {
        let value = container(&ContainerInfoProto {
            container_id: 7,
            state: LifeCycleState::Open as i32,
            state_enter_time: Some(1_795_260_206_295),
            owner: "om".to_owned(),
            ..ContainerInfoProto::default()
        });
        let fields: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let wanted = [
            "state",
            "stateEnterTime",
            "replicationConfig",
            "usedBytes",
            "numberOfKeys",
            "lastUsed",
            "owner",
            "containerID",
            "deleteTransactionId",
            "sequenceId",
            "healthState",
            "open",
            "deleted",
        ];
        assert_eq!(fields, wanted);
        assert_eq!((&value["open"], &value["healthState"]), (&true.into(), &"HEALTHY".into()));
        assert_eq!(value["stateEnterTime"], "2026-11-21T11:23:26.295Z");
    }
}
