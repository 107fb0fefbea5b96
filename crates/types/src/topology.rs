//! Locations of nodes: racks, and distances between them.
//!
//! A location is a path such as `/default-rack` or `/dc1/rack2`: a node's `network_location`. The
//! node itself is a leaf below it.

use crate::DatanodeDetails;
pub use crate::location::parts;

/// Location of a node without one of its own.
pub const DEFAULT_RACK: &str = "/default-rack";

/// Distance from any node of a reader that is neither a node of the cluster nor in a known rack.
pub const FAR: u32 = u32::MAX;

/// Cost of passing each layer of the network, the root's first. Missing layers cost 1.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Costs {
    layers: Vec<u32>,
}

impl Costs {
    /// The costs of the layers, from the root down.
    pub fn new(layers: impl IntoIterator<Item = u32>) -> Self {
        Self { layers: layers.into_iter().collect() }
    }

    /// The cost of a layer; the root's is 0.
    pub fn of(&self, layer: usize) -> u32 {
        self.layers.get(layer).copied().unwrap_or(1)
    }

    /// Distance from a leaf in one location up to the common ancestor and down to a leaf in the
    /// other, as in Ozone: the cost of all passed layers, of the ancestor on both ways. If all cost
    /// 1, it is 2 within a rack, 4 between racks of the same data centre.
    pub fn distance(&self, a: &str, b: &str) -> u32 {
        let (a, b): (Vec<_>, Vec<_>) = (parts(a).collect(), parts(b).collect());
        let common = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        let way = |place: &[&str]| -> u32 {
            // An element of the path is one layer below the root.
            (common..=place.len()).map(|layer| self.of(layer)).fold(0, u32::saturating_add)
        };
        way(&a).saturating_add(way(&b))
    }
}

/// Normalizes a location as Ozone does: one slash before each part, none at the end. An empty one
/// is the default rack.
pub fn normal(location: &str) -> String {
    let parts: Vec<_> = parts(location).collect();
    if parts.is_empty() { DEFAULT_RACK.to_owned() } else { format!("/{}", parts.join("/")) }
}

/// The reader.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// IP address or host name.
    pub address: &'a str,
    /// Its location, if known.
    pub location: Option<&'a str>,
    /// Costs of the layers.
    pub costs: &'a Costs,
}

impl Reader<'_> {
    /// Distance to a node with that address, name and location: 0 on the same host.
    pub fn distance(&self, ip: &str, host: &str, place: &str) -> u32 {
        match self.location {
            _ if ip == self.address || host == self.address => 0,
            Some(location) => self.costs.distance(location, place),
            None => FAR,
        }
    }
}

/// Positions of `nodes`, the nearest to the reader first; the order of equal ones is kept.
pub fn nearest_first(nodes: &[DatanodeDetails], reader: Reader<'_>) -> Vec<u32> {
    let far = |n: &DatanodeDetails| reader.distance(&n.ip, &n.host, &n.network_location);
    let mut order: Vec<u32> = (0..).take(nodes.len()).collect();
    order.sort_by_key(|at| nodes.get(*at as usize).map_or(FAR, far));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DatanodeId;

    #[test]
    fn distances_are_counted_over_the_common_ancestor() {
        for (a, b, steps) in [
            ("/r1", "/r1", 2),
            ("/r1", "/r2", 4),
            ("/d1/r1", "/d1/r2", 4),
            ("/d1/r1", "/d2/r1", 6),
            ("/d1/r1", "/r1", 5),
            ("r1/", "/r1", 2),
        ] {
            let costs = Costs::default();
            assert_eq!(costs.distance(a, b), steps, "{a} {b}");
            assert_eq!(costs.distance(b, a), steps, "{b} {a}");
        }
    }

    #[test]
    fn layers_cost_what_they_are_said_to_cost() {
        // Root, data centre, rack; lower layers cost 1.
        let costs = Costs::new([100, 10, 2]);
        for (a, b, cost) in [
            ("/d1/r1", "/d1/r1", 2 + 2),
            ("/d1/r1", "/d1/r2", 2 + 10 + 10 + 2),
            ("/d1/r1", "/d2/r1", 2 + 10 + 100 + 100 + 10 + 2),
            ("/d1/r1/g", "/d1/r1/h", 1 + 2 + 2 + 1),
        ] {
            assert_eq!(costs.distance(a, b), cost, "{a} {b}");
            assert_eq!(costs.distance(b, a), cost, "{b} {a}");
        }
    }

    #[test]
    fn places_are_written_one_way() {
        assert_eq!(normal("/a//b/"), "/a/b");
        assert_eq!(normal("a"), "/a");
        assert_eq!(normal(" / "), DEFAULT_RACK);
    }

    #[test]
    fn own_host_then_own_rack_then_the_rest() {
        let node = |n: u8, rack: &str| DatanodeDetails {
            network_location: rack.to_owned(),
            ..DatanodeDetails::new(DatanodeId::default(), format!("10.0.0.{n}"), format!("h{n}"))
        };
        let nodes = [node(1, "/a"), node(2, "/b"), node(3, "/b"), node(4, "/c/d")];
        let costs = Costs::default();
        let order =
            |address, location| nearest_first(&nodes, Reader { address, location, costs: &costs });
        assert_eq!(order("10.0.0.3", Some("/b")), [2, 1, 0, 3]);
        assert_eq!(order("10.0.0.9", Some("/b")), [1, 2, 0, 3]);
        assert_eq!(order("h4", None), [3, 0, 1, 2]);
        assert_eq!(order("10.0.0.9", None), [0, 1, 2, 3]);
    }
}
