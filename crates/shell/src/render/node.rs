//! DataNodes.

use proto::hdds::{Node, NodeState};
use serde_json::{Value, json};
use types::{DatanodeDetails, OperationalState, Port, PortName};

fn port(p: &Port) -> Value {
    json!({ "name": p.name.as_str(), "value": p.value })
}

/// Ports that Ozone's tools support; ours is omitted.
fn ports(node: &DatanodeDetails) -> Vec<Value> {
    node.ports.iter().filter(|p| p.name != PortName::Native).map(port).collect()
}

fn op_state(state: OperationalState) -> &'static str {
    state.to_wire().as_str_name()
}

/// Health in SCM.
pub(crate) fn health(node: &Node) -> &'static str {
    node.node_states
        .first()
        .and_then(|s| NodeState::try_from(*s).ok())
        .map_or("UNKNOWN", |s| s.as_str_name())
}

/// Operational state in SCM.
pub(crate) fn operational(node: &Node, details: &DatanodeDetails) -> &'static str {
    op_state(
        node.node_operational_states
            .first()
            .map_or(details.op_state, |s| OperationalState::from_wire(*s)),
    )
}

/// An id with the bytes that Java prints next to it.
pub(crate) fn id(id: impl ToString) -> Value {
    json!({ "uuid": id.to_string(), "byteString": { "validUtf8": true, "empty": false } })
}

fn as_bytes(text: &str) -> Value {
    json!({ "string": text, "bytes": { "validUtf8": true, "empty": text.is_empty() } })
}

/// `datanode list --json`: one DataNode.
pub(crate) fn listed(node: &Node, d: &DatanodeDetails) -> Value {
    let state = operational(node, d);
    json!({
        "id": d.id.to_string(),
        "hostName": d.host,
        "ipAddress": d.ip,
        "ports": ports(d),
        "setupTime": 0,
        "currentVersion": d.version,
        "opState": state,
        "persistedOpState": op_state(d.op_state),
        "persistedOpStateExpiryEpochSec": d.op_state_expiry,
        "healthState": health(node),
        "decommissioned": matches!(state, "DECOMMISSIONED" | "DECOMMISSIONING"),
        "maintenance": matches!(state, "IN_MAINTENANCE" | "ENTERING_MAINTENANCE"),
        "level": 3,
        "cost": 0,
        "numOfLeaves": 1,
        "networkFullPath": format!("{}/{}", d.network_location, d.id),
        "networkLocation": d.network_location,
        "networkName": d.id.to_string(),
        "totalVolumeCount": node.total_volume_count(),
        "healthyVolumeCount": node.healthy_volume_count(),
        "failedVolumes": node.failed_volumes,
    })
}

/// A DataNode as pipelines, replicas and usage reports show it.
pub(crate) fn details(d: &DatanodeDetails) -> Value {
    let mut value = json!({
        "level": 3,
        "cost": 0,
        "id": id(d.id),
        "ipAddress": d.ip,
        "hostName": d.host,
        "ports": ports(d),
        "setupTime": 0,
        "persistedOpState": op_state(d.op_state),
        "persistedOpStateExpiryEpochSec": d.op_state_expiry,
        "initialVersion": 0,
        "currentVersion": d.version,
        "uuidString": d.id.to_string(),
        "ipAddressAsByteString": as_bytes(&d.ip),
        "hostNameAsByteString": as_bytes(&d.host),
    });
    for (name, field) in [(PortName::Ratis, "ratisPort"), (PortName::Standalone, "standalonePort")]
    {
        if let Some(p) = d.ports.iter().find(|p| p.name == name) {
            value[field] = port(p);
        }
    }
    let rest = json!({
        "decommissioned": matches!(
            d.op_state,
            OperationalState::Decommissioning | OperationalState::Decommissioned
        ),
        "maintenance": matches!(
            d.op_state,
            OperationalState::EnteringMaintenance | OperationalState::InMaintenance
        ),
        "numOfLeaves": 1,
        "networkLocation": d.network_location,
        "networkName": d.id.to_string(),
        "networkLocationAsByteString": as_bytes(&d.network_location),
        "networkNameAsByteString": as_bytes(&d.id.to_string()),
        "networkFullPath": format!("{}/{}", d.network_location, d.id),
    });
    if let (Value::Object(value), Value::Object(rest)) = (&mut value, rest) {
        value.extend(rest);
    }
    value
}
