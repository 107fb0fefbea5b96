//! Taking DataNodes out of service and back. This release does not drain DataNodes: each host is refused by name, as
//! Ozone refuses those that it cannot take.

use proto::container_location::*;

use crate::core::Core;

/// DecommissionNodes.
pub fn decommission(
    core: &Core,
    r: &DecommissionNodesRequestProto,
) -> DecommissionNodesResponseProto {
    let unknown = |host: &str| format!("{host}: Name or service not known");
    DecommissionNodesResponseProto { failed_hosts: refuse(core, &r.hosts, unknown) }
}

/// RecommissionNodes.
pub fn recommission(
    core: &Core,
    r: &RecommissionNodesRequestProto,
) -> RecommissionNodesResponseProto {
    RecommissionNodesResponseProto { failed_hosts: refuse(core, &r.hosts, str::to_owned) }
}

/// StartMaintenanceNodes.
pub fn maintenance(
    core: &Core,
    r: &StartMaintenanceNodesRequestProto,
) -> StartMaintenanceNodesResponseProto {
    StartMaintenanceNodesResponseProto { failed_hosts: refuse(core, &r.hosts, str::to_owned) }
}

/// Why each host is refused; `unknown` is Ozone's text for one that no node has.
fn refuse(
    core: &Core,
    hosts: &[String],
    unknown: impl Fn(&str) -> String,
) -> Vec<DatanodeAdminErrorResponseProto> {
    let cluster = core.cluster();
    let refused = |host: &String| {
        // A port may follow the name, where a host has several nodes.
        let name = host.split(':').next().unwrap_or(host);
        let known = cluster.nodes.iter().any(|n| n.details.host == name || n.details.ip == name);
        let error = if known {
            "operational states of DataNodes are not supported by this release".to_owned()
        } else {
            unknown(host)
        };
        DatanodeAdminErrorResponseProto { host: host.clone(), error }
    };
    hosts.iter().map(refused).collect()
}
