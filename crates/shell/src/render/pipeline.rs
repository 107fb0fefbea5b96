//! Pipelines.

use serde_json::{Map, Value, json};
use types::{Pipeline, PipelineState, StorageType};

use super::time::{millis, now};
use super::{node, replication};

/// Name of a pipeline's state.
pub(crate) fn state(state: PipelineState) -> &'static str {
    match state {
        PipelineState::Allocated => "ALLOCATED",
        PipelineState::Open => "OPEN",
        PipelineState::Dormant => "DORMANT",
        PipelineState::Closed => "CLOSED",
    }
}

fn kind(pipeline: &Pipeline) -> &'static str {
    pipeline.config.wire_type().as_str_name()
}

fn index(pipeline: &Pipeline, member: usize) -> u32 {
    pipeline.replica_indexes.get(member).copied().unwrap_or(0)
}

/// `pipeline list --json`: one pipeline.
pub(crate) fn pipeline(p: &Pipeline) -> Value {
    let nodes: Vec<Value> = p.members.iter().map(node::details).collect();
    let mut by_name: Vec<(String, u32)> =
        p.members.iter().enumerate().map(|(i, m)| (m.to_string(), index(p, i))).collect();
    by_name.sort();
    let indexes: Map<String, Value> = by_name.into_iter().map(|(n, i)| (n, i.into())).collect();
    let mut value = json!({
        "id": { "id": p.id.to_string() },
        "replicationConfig": replication::config(&p.config),
        "replicaIndexes": indexes,
        "nodesInOrder": p.read_order().into_iter().map(node::details).collect::<Vec<_>>(),
    });
    if let Some(leader) = p.leader {
        value["leaderId"] = node::id(leader);
    }
    value["creationTimestamp"] = millis(p.created_ms).into();
    if let Some(leader) = p.suggested_leader {
        value["suggestedLeaderId"] = node::id(leader);
    }
    // Java's client shows the time of the response, too.
    value["stateEnterTime"] = now().into();
    value["empty"] = p.members.is_empty().into();
    value["type"] = kind(p).into();
    value["pipelineState"] = state(p.state).into();
    value["nodes"] = nodes.into();
    if let Some(leader) = p.leader.and_then(|l| p.member(l)) {
        value["leaderNode"] = node::details(leader);
    }
    if let Some(first) = p.members.first() {
        value["firstNode"] = node::details(first);
    }
    if let Some(closest) = p.read_order().first() {
        value["closestNode"] = node::details(closest);
    }
    // Ozone's pipelines have none.
    if p.storage_type != StorageType::Disk {
        value["storageType"] = p.storage_type.to_string().into();
    }
    value["healthy"] = (p.state == PipelineState::Open && p.leader.is_some()).into();
    value
}

/// `pipeline list`: one line.
pub(crate) fn line(p: &Pipeline) -> String {
    let nodes: String = p
        .members
        .iter()
        .enumerate()
        .map(|(i, m)| format!(" {{{m}, ReplicaIndex: {}}},", index(p, i)))
        .collect();
    let storage = match p.storage_type {
        StorageType::Disk => String::new(),
        of => format!(", StorageType: {of}"),
    };
    format!(
        "Pipeline{{ Id: {}, Nodes: [{nodes}], ReplicationConfig: {}, State:{}, leaderId:{}, \
         CreationTimestamp{}[Etc/UTC]{storage}}}",
        p.id,
        p.config,
        state(p.state),
        p.leader.map(|l| l.to_string()).unwrap_or_default(),
        millis(p.created_ms),
    )
}

/// `datanode list`: the role of one DataNode.
pub(crate) fn membership(p: &Pipeline, node: types::DatanodeId) -> String {
    let role = if p.leader == Some(node) { "Leader" } else { "Follower" };
    format!("{}/{}/{}/{}/{role}", p.id, p.config, kind(p), state(p.state))
}

#[cfg(test)]
mod tests {
    use types::{DatanodeDetails, DatanodeId, PipelineId, ReplicationConfig};

    use super::*;

    fn three() -> Pipeline {
        let nodes = (0..3)
            .map(|i| DatanodeDetails::new(DatanodeId::random(), "127.0.0.1", format!("node{i}")));
        let members: Vec<_> = nodes.collect();
        Pipeline {
            id: PipelineId::random(),
            config: ReplicationConfig::RATIS_THREE,
            storage_type: StorageType::default(),
            state: PipelineState::Open,
            leader: Some(members[1].id),
            suggested_leader: Some(members[1].id),
            members,
            replica_indexes: Vec::new(),
            created_ms: 1_795_260_050_440,
            order: Vec::new(),
        }
    }

    #[test]
    fn fields_come_in_ozones_order() {
        let value = pipeline(&three());
        let fields: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let wanted = [
            "id",
            "replicationConfig",
            "replicaIndexes",
            "nodesInOrder",
            "leaderId",
            "creationTimestamp",
            "suggestedLeaderId",
            "stateEnterTime",
            "empty",
            "type",
            "pipelineState",
            "nodes",
            "leaderNode",
            "firstNode",
            "closestNode",
            "healthy",
        ];
        assert_eq!(fields, wanted);
        assert_eq!(value["firstNode"]["hostName"], "node0");
        assert_eq!(value["closestNode"]["hostName"], "node1", "the leader is read first");
        assert_eq!(value["healthy"], true);
    }

    #[test]
    fn a_line_is_ozones() {
        let p = three();
        let text = line(&p);
        assert!(text.starts_with(&format!("Pipeline{{ Id: {}, Nodes: [ {{", p.id)), "{text}");
        let end = format!(
            "ReplicationConfig: RATIS/THREE, State:OPEN, leaderId:{}, \
             CreationTimestamp2026-11-21T11:20:50.440Z[Etc/UTC]}}",
            p.members[1].id
        );
        assert!(text.ends_with(&end), "{text}");
    }
}
