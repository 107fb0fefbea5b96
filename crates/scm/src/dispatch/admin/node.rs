//! DataNodes: query, usage.

use placement::Node;
use proto::container_location::*;
use proto::hdds::{self, DatanodeUsageInfoProto, StorageTypeUsageProto};
use types::{DatanodeDetails, DatanodeId, StorageType};

use crate::core::Core;
use crate::error::RequestError;

/// QueryNode: the nodes in a state, all when none is named.
pub fn query(core: &Core, r: &NodeQueryRequestProto) -> NodeQueryResponseProto {
    let cluster = core.cluster();
    let wanted = |n: &&Node| {
        r.state.is_none_or(|s| n.health.to_wire() as i32 == s)
            && r.op_state.is_none_or(|s| n.details.op_state.to_wire() as i32 == s)
    };
    NodeQueryResponseProto { datanodes: cluster.nodes.iter().filter(wanted).map(to_wire).collect() }
}

/// SingleNodeQuery.
pub fn query_one(
    core: &Core,
    r: &SingleNodeQueryRequestProto,
) -> Result<SingleNodeQueryResponseProto, RequestError> {
    let id = DatanodeId(types::ids::uuid_from_wire(&r.uuid));
    let cluster = core.cluster();
    let node = cluster
        .nodes
        .get(id)
        .ok_or_else(|| RequestError::NodeNotFound(format!("Datanode with UUID {id} not found")))?;
    Ok(SingleNodeQueryResponseProto { datanode: Some(to_wire(node)) })
}

/// DatanodeUsageInfo: the nodes at an address or of an id, or the most or least used ones.
pub fn usage(
    core: &Core,
    r: &DatanodeUsageInfoRequestProto,
) -> Result<DatanodeUsageInfoResponseProto, RequestError> {
    let cluster = core.cluster();
    let named = r.uuid.as_deref().filter(|s| !s.is_empty());
    let address = r.ipaddress.as_deref().filter(|s| !s.is_empty());
    let mut nodes: Vec<&Node> = match (named, address) {
        (None, None) => cluster.nodes.iter().collect(),
        (uuid, address) => {
            let id = uuid.map(str::parse::<DatanodeId>).transpose();
            let id =
                id.map_err(|_| RequestError::Invalid(format!("{} is not a uuid", r.uuid())))?;
            let found: Vec<_> = cluster
                .nodes
                .iter()
                .filter(|n| id.is_none_or(|id| n.details.id == id))
                .filter(|n| address.is_none_or(|a| n.details.ip == a || n.details.host == a))
                .collect();
            // As in Ozone an address may be that of no node; an unknown id is an error.
            if let (Some(id), true) = (named, found.is_empty()) {
                return Err(RequestError::NodeNotFound(format!("Could not find datanode {id}")));
            }
            found
        }
    };
    if named.is_none() && address.is_none() {
        nodes.sort_by(|a, b| share(b).total_cmp(&share(a)));
        if !r.most_used() {
            nodes.reverse();
        }
        nodes.truncate(r.count() as usize);
    }
    let info = nodes.into_iter().map(|n| {
        let total = n.total();
        DatanodeUsageInfoProto {
            capacity: Some(total.capacity as i64),
            used: Some(total.used as i64),
            remaining: Some(total.remaining as i64),
            node: Some(DatanodeDetails::to_wire(&n.details)),
            container_count: Some(cluster.replicas.count_on(n.details.id) as i64),
            committed: Some(total.committed as i64),
            free_space_to_spare: Some(total.free_space_to_spare as i64),
            pipeline_count: Some(cluster.pipelines.of_node(n.details.id).len() as i64),
            reserved: Some(total.reserved as i64),
            fs_capacity: Some(total.fs_capacity as i64),
            fs_available: Some(total.fs_available as i64),
            usage_by_type: by_type(n),
        }
    });
    Ok(DatanodeUsageInfoResponseProto { info: info.collect() })
}

/// Usage by storage type, over all disks of a node.
fn by_type(node: &Node) -> Vec<StorageTypeUsageProto> {
    let of_type = |of: StorageType| {
        let disks = node.storage.iter().filter(move |s| !s.failed && s.storage_type == of);
        let mut usage =
            StorageTypeUsageProto { storage_type: of.to_wire() as i32, ..Default::default() };
        for disk in disks {
            usage.disks = usage.disks.saturating_add(1);
            usage.capacity = usage.capacity.saturating_add(disk.capacity);
            usage.used = usage.used.saturating_add(disk.used);
            usage.remaining = usage.remaining.saturating_add(disk.remaining);
        }
        usage
    };
    StorageType::ALL.into_iter().map(of_type).filter(|usage| usage.disks > 0).collect()
}

/// Used share of a node's capacity.
fn share(node: &Node) -> f64 {
    let total = node.total();
    if total.capacity == 0 { 0.0 } else { total.used as f64 / total.capacity as f64 }
}

fn to_wire(node: &Node) -> hdds::Node {
    let failed = node.storage.iter().filter(|s| s.failed);
    hdds::Node {
        node_id: DatanodeDetails::to_wire(&node.details),
        node_states: vec![node.health.to_wire() as i32],
        node_operational_states: vec![node.details.op_state.to_wire() as i32],
        total_volume_count: Some(node.storage.len() as i32),
        healthy_volume_count: Some(node.storage.iter().filter(|s| !s.failed).count() as i32),
        failed_volumes: failed.map(|s| s.location.clone()).collect(),
    }
}
