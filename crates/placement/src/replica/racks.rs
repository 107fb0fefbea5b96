//! Racks of nodes that have replicas of a container.

use std::collections::{BTreeMap, BTreeSet};

use types::DatanodeId;

use super::Replication;
use crate::state::node::Node;

impl Replication<'_> {
    /// Returns `true` if these nodes, at least two, are all in one rack although other racks have
    /// nodes.
    pub(super) fn in_one_rack_of_several(&self, nodes: &[DatanodeId]) -> bool {
        if !self.settings.replication.rack_aware || nodes.len() < 2 {
            return false;
        }
        let racks = self.racks_of(nodes);
        racks.len() == 1
            && self
                .nodes
                .iter()
                .any(|n| n.accepts_writes() && !racks.contains(n.details.network_location.as_str()))
    }

    pub(super) fn racks_of(&self, nodes: &[DatanodeId]) -> BTreeSet<&str> {
        let of = |id: &DatanodeId| Some(self.nodes.get(*id)?.details.network_location.as_str());
        nodes.iter().filter_map(of).collect()
    }

    /// Number of these nodes in each rack; all are in one where racks do not matter.
    pub(super) fn by_rack<'a>(
        &self,
        nodes: impl Iterator<Item = &'a DatanodeId>,
    ) -> BTreeMap<&str, usize> {
        let mut by_rack = BTreeMap::new();
        for node in nodes.filter_map(|id| self.nodes.get(*id)) {
            let count: &mut usize = by_rack.entry(self.rack_of(node)).or_default();
            *count = count.saturating_add(1);
        }
        by_rack
    }

    pub(super) fn rack_of<'a>(&self, node: &'a Node) -> &'a str {
        match self.settings.replication.rack_aware {
            true => node.details.network_location.as_str(),
            false => "",
        }
    }
}
