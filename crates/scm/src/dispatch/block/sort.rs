//! SortDatanodes: nodes by their distance from a client.

use proto::block_location::{SortDatanodesRequestProto, SortDatanodesResponseProto};
use types::topology::{Reader, nearest_first};
use types::{DatanodeDetails, DatanodeId};

use crate::core::Core;

/// The nodes named in the request, the nearest to the client first; unknown ones are skipped.
pub async fn sort(core: &Core, request: &SortDatanodesRequestProto) -> SortDatanodesResponseProto {
    let location = core.options.racks.location(&[&request.client]).await;
    let cluster = core.cluster();
    let ids = request.node_network_name.iter().filter_map(|n| n.parse::<DatanodeId>().ok());
    let nodes: Vec<DatanodeDetails> =
        ids.filter_map(|id| cluster.nodes.get(id)).map(|n| n.details.clone()).collect();
    drop(cluster);
    let costs = core.options.racks.costs();
    let reader = Reader { address: &request.client, location: location.as_deref(), costs };
    let order = nearest_first(&nodes, reader);
    let sorted = order.iter().filter_map(|at| nodes.get(*at as usize));
    SortDatanodesResponseProto { node: sorted.map(DatanodeDetails::to_wire).collect() }
}
