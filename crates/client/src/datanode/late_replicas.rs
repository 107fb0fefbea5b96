//! Replicas that responded later than another one. They are tried last for a while, so that only
//! the first reader of a container on a slow disk waits for the hedge.
//!
//! An entry is a node's replica of a container, because the node's other disks may be healthy.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use types::{ContainerId, DatanodeDetails, DatanodeId};

/// Time for which a replica is tried last. The first read after it tests whether it has recovered.
const REMEMBERED: Duration = Duration::from_secs(10);

/// Maximum number of entries.
const MOST: usize = 10_000;

/// Late replicas, shared by all readers of a client.
#[derive(Debug, Clone, Default)]
pub(crate) struct LateReplicas {
    until: Arc<Mutex<FxHashMap<(ContainerId, DatanodeId), Instant>>>,
}

impl LateReplicas {
    /// Records that these nodes were late.
    pub(crate) fn note(&self, container: ContainerId, nodes: &[DatanodeId]) {
        if nodes.is_empty() {
            return;
        }
        let now = Instant::now();
        let mut until = self.until.lock();
        if until.len() >= MOST {
            until.retain(|_, until| *until > now);
        }
        for node in nodes {
            if until.len() < MOST {
                until.insert((container, *node), now + REMEMBERED);
            }
        }
    }

    /// Moves nodes that were late after the others; the order is otherwise unchanged.
    pub(crate) fn put_last(&self, container: ContainerId, nodes: &mut [DatanodeDetails]) {
        let until = self.until.lock();
        if until.is_empty() {
            return;
        }
        let now = Instant::now();
        let is_late = |node: &DatanodeDetails| {
            until.get(&(container, node.id)).is_some_and(|until| *until > now)
        };
        nodes.sort_by_key(is_late);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_replica_is_asked_last_and_others_of_its_node_are_not() {
        let late = LateReplicas::default();
        let mut nodes: Vec<_> = (0..3)
            .map(|i| DatanodeDetails::new(DatanodeId::random(), "127.0.0.1", format!("n{i}")))
            .collect();
        let order = |nodes: &[DatanodeDetails]| -> Vec<String> {
            nodes.iter().map(|node| node.host.clone()).collect()
        };
        late.note(ContainerId(1), &[nodes[0].id]);
        late.put_last(ContainerId(2), &mut nodes);
        assert_eq!(order(&nodes), ["n0", "n1", "n2"]);
        late.put_last(ContainerId(1), &mut nodes);
        assert_eq!(order(&nodes), ["n1", "n2", "n0"]);
        // If all were late, the order is unchanged.
        late.note(ContainerId(1), &[nodes[0].id, nodes[1].id]);
        late.put_last(ContainerId(1), &mut nodes);
        assert_eq!(order(&nodes), ["n1", "n2", "n0"]);
    }

    #[test]
    fn what_is_remembered_is_bounded_and_ends() {
        let late = LateReplicas::default();
        let node = DatanodeId::random();
        for id in 0..MOST as u64 + 100 {
            late.note(ContainerId(id), &[node]);
        }
        assert_eq!(late.until.lock().len(), MOST);
        let past = Instant::now().checked_sub(REMEMBERED).unwrap();
        late.until.lock().values_mut().for_each(|until| *until = past);
        late.note(ContainerId(0), &[node]);
        assert_eq!(late.until.lock().len(), 1);
    }
}
