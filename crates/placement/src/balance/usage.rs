//! Usage of the nodes' disks, by storage type.

use std::collections::BTreeMap;

use types::{DatanodeId, StorageType};

use crate::state::node::Node;

/// The disks of one type of a node.
pub(super) type Disks = (DatanodeId, StorageType);

/// Bytes of the disks of one type of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usage {
    pub capacity: u64,
    pub used: u64,
}

impl Usage {
    /// Used share of the capacity with `more` bytes, or less, in per cent.
    pub fn percent(self, more: u64, less: u64) -> f64 {
        let used = self.used.saturating_add(more).saturating_sub(less);
        used as f64 * 100.0 / self.capacity.max(1) as f64
    }
}

/// Range of the usage of a type's disks, in per cent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub lower: f64,
    /// All disks of the type together.
    pub average: f64,
    pub upper: f64,
}

impl Bounds {
    /// Returns `true` if disks with this usage are balanced.
    pub fn contain(&self, percent: f64) -> bool {
        (self.lower..=self.upper).contains(&percent)
    }
}

/// The usage of these nodes, and the bounds that it should keep.
pub(super) fn measure<'a>(
    nodes: impl Iterator<Item = &'a Node>,
    threshold: f64,
) -> (BTreeMap<Disks, Usage>, BTreeMap<StorageType, Bounds>) {
    let mut usage = BTreeMap::new();
    let mut sums: BTreeMap<StorageType, Usage> = BTreeMap::new();
    for node in nodes {
        for of in StorageType::ALL {
            let total = node.total_of(of);
            let used = total.capacity.saturating_sub(total.remaining);
            if total.capacity > 0 {
                let all = sums.entry(of).or_insert(Usage { capacity: 0, used: 0 });
                all.capacity = all.capacity.saturating_add(total.capacity);
                all.used = all.used.saturating_add(used);
                usage.insert((node.details.id, of), Usage { capacity: total.capacity, used });
            }
        }
    }
    let bounds = sums.into_iter().map(|(of, all)| {
        let average = all.percent(0, 0);
        (of, Bounds { lower: average - threshold, average, upper: average + threshold })
    });
    (usage, bounds.collect())
}
