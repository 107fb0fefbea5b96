//! OMAdminProtocol: requests of `ozone admin om` and `ozone repair` over Hadoop RPC, and of `o3
//! admin om` and an OM that joins over the framed transport, to one OM rather than the service. The
//! answer contains the reason of a refusal.

use std::time::Duration;

use bytes::Bytes;
use framed::{Code, Reply, Status};
use metastore::Table as StoreTable;
use prost::Message;
use proto::om_admin::{
    BootstrapOmRequest, BootstrapOmResponse, CompactRequest, CompactResponse,
    DecommissionOmRequest, DecommissionOmResponse, NodeState, OmAdminCall, OmConfigurationResponse,
    OmLatencyRequest, OmLatencyResponse, OmNodeInfo, RangeCompactionRunRequest,
    RangeCompactionRunResponse, StageLatency, TriggerSnapshotDefragResponse, VerbLatency,
};
use service::Took;

use crate::dispatch::{Dispatcher, NotChanged};
use crate::members::Member;

/// Name of the protocol.
pub(super) const PROTOCOL: &str = "org.apache.hadoop.ozone.om.protocol.OMAdminProtocol";

/// Reason of a call without a response.
pub(super) enum Refused {
    /// The caller is no administrator.
    Denied(String),
    /// There is no such method.
    NoSuchMethod(String),
    /// Not here, or not now.
    Status(Status),
}

/// Answers one call.
pub(super) async fn answer(
    dispatcher: &Dispatcher,
    method: &str,
    body: Bytes,
    user: &str,
) -> Result<Bytes, Refused> {
    if !dispatcher.is_admin(user) {
        return Err(Refused::Denied(format!("{user} is no administrator")));
    }
    let undecodable = |e: prost::DecodeError| Refused::Status(Status::invalid(e.to_string()));
    let answer = match method {
        "getOMConfiguration" => configuration(dispatcher).encode_to_vec(),
        "decommission" => {
            let request = DecommissionOmRequest::decode(body).map_err(undecodable)?;
            let done = dispatcher.decommission(&request.node_id, &request.node_address).await;
            let error_msg = refusal(done)?;
            DecommissionOmResponse { success: error_msg.is_none(), error_msg }.encode_to_vec()
        }
        "compactDB" => {
            let request = CompactRequest::decode(body).map_err(undecodable)?;
            let done = compact(dispatcher, request.column_family).await;
            let error_msg = done.err().map(|e| e.to_string());
            CompactResponse { success: error_msg.is_none(), error_msg }.encode_to_vec()
        }
        "rangeCompactionStatus" => {
            let tables = dispatcher.tables().map_err(Refused::Status)?;
            let parts = dispatcher.parts();
            parts.compactor.report(&parts.facts.members.me.node_id, &tables).encode_to_vec()
        }
        "rangeCompactionRun" => {
            let request = RangeCompactionRunRequest::decode(body).map_err(undecodable)?;
            let tables = dispatcher.tables().map_err(Refused::Status)?;
            let asked = dispatcher.parts().compactor.ask(&tables, &request);
            let error_msg = asked.err().map(|e| e.to_string());
            RangeCompactionRunResponse { success: error_msg.is_none(), error_msg }.encode_to_vec()
        }
        "triggerSnapshotDefrag" => {
            let message = "Snapshot defragmentation service is not initialized".to_owned();
            let result = None;
            TriggerSnapshotDefragResponse { success: false, error_msg: Some(message), result }
                .encode_to_vec()
        }
        "latency" => {
            let request = OmLatencyRequest::decode(body).map_err(undecodable)?;
            latency(dispatcher, request.reset()).encode_to_vec()
        }
        _ => return Err(Refused::NoSuchMethod(method.to_owned())),
    };
    Ok(Bytes::from(answer))
}

/// The same over the framed transport, by which OMs also join the service.
pub(super) async fn answer_framed(dispatcher: &Dispatcher, call: Bytes) -> Result<Reply, Status> {
    let call: OmAdminCall = framed::message::decode(call)?;
    if call.method == "bootstrap" {
        let request: BootstrapOmRequest = framed::message::decode(call.body)?;
        let response = match dispatcher.bootstrap(&request).await {
            Ok(membership) => {
                let membership = Some(membership.encode());
                BootstrapOmResponse { success: true, error_msg: None, membership }
            }
            Err(NotChanged::Refused(reason)) => {
                BootstrapOmResponse { success: false, error_msg: Some(reason), membership: None }
            }
            Err(NotChanged::Elsewhere(status)) => return Err(status),
        };
        return Ok(framed::message::reply(&response));
    }
    if call.method == "getOMConfiguration" {
        // OMs send it to each other, as no particular user.
        return Ok(framed::message::reply(&configuration(dispatcher)));
    }
    let answered = answer(dispatcher, &call.method, call.body, &call.user).await;
    let header = answered.map_err(|refused| match refused {
        Refused::Denied(message) => Status::invalid(message),
        Refused::NoSuchMethod(method) => {
            Status::new(Code::Unimplemented, format!("OM does not serve {method}"))
        }
        Refused::Status(status) => status,
    })?;
    Ok(Reply { header, payload: Bytes::new() })
}

/// Reason in a response for why a change was not made; an error if the client is to call another
/// OM.
fn refusal(done: Result<(), NotChanged>) -> Result<Option<String>, Refused> {
    match done {
        Ok(()) => Ok(None),
        Err(NotChanged::Refused(reason)) => Ok(Some(reason)),
        Err(NotChanged::Elsewhere(status)) => Err(Refused::Status(status)),
    }
}

/// The members of the service, and those that the configuration names by now.
fn configuration(dispatcher: &Dispatcher) -> OmConfigurationResponse {
    let facts = &dispatcher.parts().facts;
    let members = &facts.members;
    members.reload();
    let node = |member: &Member| {
        let me = member.raft_id == members.me.raft_id;
        let rpc_port = u32::from(if me { facts.rpc_port } else { member.rpc.port });
        let state =
            if member.decommissioned { NodeState::Decommissioned } else { NodeState::Active };
        OmNodeInfo {
            node_id: member.node_id.clone(),
            host_address: member.rpc.connect().host,
            rpc_port,
            ratis_port: if members.shared { u32::from(member.raft.port) } else { rpc_port },
            node_state: Some(state as i32),
            is_listener: Some(member.listener),
        }
    };
    let (all, membership) = (members.all(), dispatcher.parts().group.membership());
    let belongs = all.iter().filter(|m| membership.contains(m.raft_id)).map(node);
    let in_memory = belongs.map(|node| OmNodeInfo { node_state: None, ..node }).collect();
    OmConfigurationResponse {
        success: true,
        error_msg: None,
        nodes_in_memory: in_memory,
        nodes_in_new_conf: all.iter().map(node).collect(),
        membership: Some(membership.encode()),
    }
}

/// Time of requests by stage in the present period; `reset` ends it.
fn latency(dispatcher: &Dispatcher, reset: bool) -> OmLatencyResponse {
    let parts = dispatcher.parts();
    let nanos = |took: Duration| u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    let stage = |stage: &str, took: &Took| StageLatency {
        stage: stage.to_owned(),
        sum_nanos: nanos(took.spread.sum()),
        longest_nanos: nanos(took.longest),
        buckets: took.spread.buckets().to_vec(),
    };
    let verbs = parts.stages.times().into_iter().map(|times| VerbLatency {
        verb: times.verb.to_owned(),
        total: stage("", &times.total),
        stages: times.stages.iter().map(|(name, took)| stage(name, took)).collect(),
    });
    let answer = OmLatencyResponse {
        node_id: parts.facts.members.me.node_id.clone(),
        period_ms: u64::try_from(parts.stages.period().as_millis()).unwrap_or(u64::MAX),
        verbs: verbs.collect(),
    };
    if reset {
        parts.stages.begin_period();
    }
    answer
}

/// A table is not compacted.
#[derive(Debug, thiserror::Error)]
enum CompactError {
    #[error(transparent)]
    Tables(#[from] Status),
    #[error("Column family {0} does not exist")]
    NoSuchTable(String),
}

/// Compacts a table, for however long that takes: the answer confirms the start.
async fn compact(dispatcher: &Dispatcher, family: String) -> Result<(), CompactError> {
    let tables = dispatcher.tables()?;
    let known = namespace::Table::ALL.iter().find(|table| table.name() == family);
    let Some(table) = known.map(|table| StoreTable::named(table.name())) else {
        return Err(CompactError::NoSuchTable(family));
    };
    tokio::task::spawn_blocking(move || match tables.store().compact_table(table) {
        Ok(()) => tracing::info!("compaction of {family} finished"),
        Err(e) => tracing::warn!("compaction of {family} failed: {e}"),
    });
    Ok(())
}
