//! Pipelines.

use serde_json::{Map, Value, json};
use types::{Pipeline, PipelineState};

use super::{node, replication, time::millis};

fn state(state: PipelineState) -> &'static str {
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
    value["empty"] = p.members.is_empty().into();
    value["type"] = kind(p).into();
    value["pipelineState"] = state(p.state).into();
    value["nodes"] = nodes.into();
    if let Some(leader) = p.leader.and_then(|l| p.member(l)) {
        value["leaderNode"] = node::details(leader);
    }
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
    format!(
        "Pipeline{{ Id: {}, Nodes: [{nodes}], ReplicationConfig: {}, State:{}, leaderId:{}, \
         CreationTimestamp{}[Etc/UTC]}}",
        p.id,
        p.config,
        state(p.state),
        p.leader.map(|l| l.to_string()).unwrap_or_default(),
        millis(p.created_ms),
    )
}

/// `datanode list`: how one DataNode takes part.
pub(crate) fn membership(p: &Pipeline, node: types::DatanodeId) -> String {
    let role = if p.leader == Some(node) { "Leader" } else { "Follower" };
    format!("{}/{}/{}/{}/{role}", p.id, p.config, kind(p), state(p.state))
}
