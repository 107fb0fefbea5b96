//! Comparison of the replicas of a container.

use proto::hdds::{ContainerInfoProto, ScmContainerReplicaProto};
use serde_json::{Value, json};
use types::{DatanodeDetails, WireError};

use super::{container, replication};

/// `container reconcile --status`: a container with the checksums of its replicas.
pub(crate) fn status(
    c: &ContainerInfoProto,
    replicas: &[ScmContainerReplicaProto],
) -> Result<Value, WireError> {
    let mut checksums = replicas.iter().map(ScmContainerReplicaProto::data_checksum);
    let first = checksums.next();
    Ok(json!({
        "containerID": c.container_id,
        "state": container::state(c),
        "replicationConfig": replication::wire(
            c.replication_type,
            c.replication_factor,
            c.ec_replication_config.as_ref(),
        ),
        "replicasMatch": checksums.all(|checksum| Some(checksum) == first),
        "replicas": replicas.iter().map(replica).collect::<Result<Vec<_>, _>>()?,
    }))
}

fn replica(r: &ScmContainerReplicaProto) -> Result<Value, WireError> {
    let d = DatanodeDetails::from_wire(&r.datanode_details)?;
    Ok(json!({
        "datanode": { "id": d.id.to_string(), "hostname": d.host, "ipAddress": d.ip },
        "state": r.state,
        "dataChecksum": format!("{:x}", r.data_checksum()),
    }))
}

#[cfg(test)]
mod tests {
    use proto::hdds::{LifeCycleState, ReplicationFactor, ReplicationType};
    use types::DatanodeId;

    use super::*;

    /// The output of `JsonUtils` of Ozone 2.2.0 for the same.
    #[test]
    fn it_looks_like_ozones() {
        let c = ContainerInfoProto {
            container_id: 7,
            state: LifeCycleState::Closed as i32,
            replication_type: ReplicationType::Ratis as i32,
            replication_factor: Some(ReplicationFactor::Three as i32),
            ..ContainerInfoProto::default()
        };
        let id = DatanodeId::random();
        let replica = |checksum| ScmContainerReplicaProto {
            storage_type: None,
            container_id: 7,
            state: "CLOSED".to_owned(),
            datanode_details: DatanodeDetails::new(id, "127.0.0.1", "h1").to_wire(),
            data_checksum: Some(checksum),
            ..ScmContainerReplicaProto::default()
        };
        let one = |checksum: &str| {
            format!(
                "{{\n    \"datanode\" : {{\n      \"id\" : \"{id}\",\n      \"hostname\" : \"h1\",\n      \
                 \"ipAddress\" : \"127.0.0.1\"\n    }},\n    \"state\" : \"CLOSED\",\n    \
                 \"dataChecksum\" : \"{checksum}\"\n  }}"
            )
        };
        let wanted = |matches: bool, replicas: &str| {
            format!(
                "{{\n  \"containerID\" : 7,\n  \"state\" : \"CLOSED\",\n  \
                 \"replicationConfig\" : {{\n    \"replicationFactor\" : \"THREE\",\n    \
                 \"requiredNodes\" : 3,\n    \"minimumNodes\" : 1,\n    \
                 \"replicationType\" : \"RATIS\"\n  }},\n  \"replicasMatch\" : {matches},\n  \
                 \"replicas\" : [ {replicas} ]\n}}"
            )
        };
        let text = |checksums: &[i64]| {
            let replicas: Vec<_> = checksums.iter().map(|c| replica(*c)).collect();
            crate::json::pretty(&status(&c, &replicas).unwrap())
        };
        let differ = [one("7f"), one("7f"), one("ffffffffffffffff")].join(", ");
        assert_eq!(text(&[0x7f, 0x7f, -1]), wanted(false, &differ));
        assert_eq!(text(&[0, 0]), wanted(true, &[one("0"), one("0")].join(", ")));
        assert_eq!(text(&[]), wanted(true, "").replace("[  ]", "[ ]"));
    }
}
