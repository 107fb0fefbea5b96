//! GetClusterTree: the network with all its nodes, by which a published OM sorts the nodes of a
//! read.

use std::collections::BTreeMap;

use proto::block_location::GetClusterTreeResponseProto;
use proto::hdds::{ChildrenMap, DatanodeDetailsProto, InnerNode, NetworkNode, NodeTopology};
use types::DatanodeDetails;
use types::topology::{Costs, parts};

use crate::core::Core;

/// The tree of all registered nodes.
pub fn tree(core: &Core) -> GetClusterTreeResponseProto {
    let mut root = Subtree::default();
    {
        let cluster = core.cluster();
        cluster.nodes.iter().for_each(|node| root.add(&node.details));
    }
    let cluster_tree = root.to_wire("", "", 1, core.options.racks.costs());
    GetClusterTreeResponseProto { cluster_tree }
}

/// Children of a location, by name.
#[derive(Default)]
struct Subtree {
    subtrees: BTreeMap<String, Subtree>,
    nodes: BTreeMap<String, DatanodeDetailsProto>,
}

impl Subtree {
    fn add(&mut self, node: &DatanodeDetails) {
        let mut subtree = self;
        for part in parts(&node.network_location) {
            subtree = subtree.subtrees.entry(part.to_owned()).or_default();
        }
        subtree.nodes.insert(node.id.to_string(), node.to_wire());
    }

    fn leaves(&self) -> u32 {
        self.nodes.len() as u32 + self.subtrees.values().map(Subtree::leaves).sum::<u32>()
    }

    /// The inner node of that name, below `location`; the root is level 1.
    fn to_wire(&self, name: &str, location: &str, level: u32, costs: &Costs) -> InnerNode {
        let path = if location == "/" { format!("/{name}") } else { format!("{location}/{name}") };
        let subtrees = self.subtrees.iter().map(|(name, subtree)| {
            let inner = subtree.to_wire(name, &path, level + 1, costs);
            child(name, NetworkNode { inner_node: Some(inner), datanode_details: None })
        });
        let nodes = self.nodes.iter().map(|(id, node)| {
            child(id, NetworkNode { datanode_details: Some(node.clone()), inner_node: None })
        });
        InnerNode {
            node_topology: Some(NodeTopology {
                name: Some(name.to_owned()),
                location: Some(location.to_owned()),
                cost: Some(costs.of(level as usize - 1)),
                level: Some(level),
            }),
            num_of_leaves: Some(self.leaves()),
            children_map: subtrees.chain(nodes).collect(),
        }
    }
}

fn child(name: &str, node: NetworkNode) -> ChildrenMap {
    ChildrenMap { network_name: Some(name.to_owned()), network_node: Some(node) }
}
