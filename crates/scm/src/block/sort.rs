//! SortDatanodes: nodes by their distance from a client.

use proto::block_location::{SortDatanodesRequestProto, SortDatanodesResponseProto};
use types::{DatanodeDetails, DatanodeId};

use crate::core::Core;

/// The nodes named in the request, those on the client's host first; unknown ones are left out.
pub fn sort(core: &Core, request: &SortDatanodesRequestProto) -> SortDatanodesResponseProto {
    let cluster = core.cluster();
    let ids = request.node_network_name.iter().filter_map(|n| n.parse::<DatanodeId>().ok());
    let mut nodes: Vec<&DatanodeDetails> =
        ids.filter_map(|id| cluster.nodes.get(id)).map(|n| &n.details).collect();
    // Stable: nodes at equal distance stay in the order asked for.
    nodes.sort_by_key(|n| n.ip != request.client && n.host != request.client);
    SortDatanodesResponseProto { node: nodes.into_iter().map(DatanodeDetails::to_wire).collect() }
}
