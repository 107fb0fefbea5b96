//! Replicas that were late: another one answered before them. They are asked last for a while, so
//! that only the first reader of a container on a sick disk waits until it asks elsewhere.
//!
//! What is remembered is a node's replica of a container: its other disks may be well.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use types::{ContainerId, DatanodeDetails, DatanodeId};

/// How long a replica is asked last. The first read behind that finds out whether it is well again.
const REMEMBERED: Duration = Duration::from_secs(10);

/// Replicas that are remembered at most.
const MOST: usize = 10_000;

/// Shared by all readers of a client.
#[derive(Debug, Clone, Default)]
pub(crate) struct LateReplicas {
    until: Arc<Mutex<FxHashMap<(ContainerId, DatanodeId), Instant>>>,
}

impl LateReplicas {
    /// Notes that these nodes were late.
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

    /// Puts nodes that were late behind the others; else the order stays.
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
        // All of them: the order stays.
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
