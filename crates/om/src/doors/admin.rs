//! OMAdminProtocol, on the Hadoop RPC door: what `ozone admin om` and `ozone repair` ask of one OM
//! rather than of the service. Whatever cannot be done is an answer that says so.

use bytes::Bytes;
use hadoop_rpc::Fault;
use metastore::Table as StoreTable;
use prost::Message;
use proto::om_admin::{
    CompactRequest, CompactResponse, DecommissionOmRequest, DecommissionOmResponse, NodeState,
    OmConfigurationResponse, OmNodeInfo, TriggerSnapshotDefragResponse,
};

use crate::members::Member;
use crate::room::Room;

/// Name of the protocol.
pub(super) const PROTOCOL: &str = "org.apache.hadoop.ozone.om.protocol.OMAdminProtocol";

/// Answers one call.
pub(super) async fn answer(
    room: &Room,
    method: &str,
    body: Bytes,
    user: &str,
) -> Result<Bytes, Fault> {
    if !room.is_admin(user) {
        let class = "org.apache.hadoop.security.AccessControlException";
        return Err(Fault::application(class, format!("{user} is no administrator")));
    }
    let undecodable = |e: prost::DecodeError| Fault::undecodable(e.to_string());
    let answer = match method {
        "getOMConfiguration" => configuration(room).encode_to_vec(),
        "decommission" => {
            let request = DecommissionOmRequest::decode(body).map_err(undecodable)?;
            let message = format!("{} cannot be decommissioned by this release", request.node_id);
            DecommissionOmResponse { success: false, error_msg: Some(message) }.encode_to_vec()
        }
        "compactDB" => {
            let request = CompactRequest::decode(body).map_err(undecodable)?;
            let done = compact(room, request.column_family).await;
            CompactResponse { success: done.is_ok(), error_msg: done.err() }.encode_to_vec()
        }
        "triggerSnapshotDefrag" => {
            let message = "Snapshot defragmentation service is not initialized".to_owned();
            let result = None;
            TriggerSnapshotDefragResponse { success: false, error_msg: Some(message), result }
                .encode_to_vec()
        }
        _ => return Err(Fault::no_such_method(PROTOCOL, method)),
    };
    Ok(Bytes::from(answer))
}

fn configuration(room: &Room) -> OmConfigurationResponse {
    let facts = &room.parts().facts;
    let members = &facts.members;
    let node = |member: &Member| {
        let me = member.raft_id == members.me.raft_id;
        let rpc_port = u32::from(if me { facts.rpc_port } else { member.rpc.port });
        OmNodeInfo {
            node_id: member.node_id.clone(),
            host_address: member.rpc.connect().host,
            rpc_port,
            ratis_port: if members.shared { u32::from(member.raft.port) } else { rpc_port },
            node_state: Some(NodeState::Active as i32),
            is_listener: Some(false),
        }
    };
    let nodes: Vec<OmNodeInfo> = members.all.iter().map(node).collect();
    OmConfigurationResponse {
        success: true,
        error_msg: None,
        nodes_in_memory: nodes.clone(),
        nodes_in_new_conf: nodes,
    }
}

/// Compacts a table, which takes as long as it takes: the answer says that it has begun.
async fn compact(room: &Room, family: String) -> Result<(), String> {
    let tables = room.tables().map_err(|e| e.to_string())?;
    let known = namespace::Table::ALL.iter().find(|table| table.name() == family);
    let Some(table) = known.map(|table| StoreTable::named(table.name())) else {
        return Err(format!("Column family {family} does not exist"));
    };
    tokio::task::spawn_blocking(move || {
        let end = [u8::MAX; 64];
        if let Err(e) = tables.store().compact_range(table, &[], &end) {
            tracing::warn!("compaction of {family}: {e}");
        }
    });
    Ok(())
}
