//! The container balancer of the cluster.

use super::Cluster;
use crate::balance::{Balancing, Choice, Iteration};
use crate::time::Millis;

impl Cluster {
    /// Begins the next move of an iteration, if there is one.
    pub fn next_move(&mut self, iteration: &mut Iteration, now: Millis) -> Choice {
        let mut balancing = Balancing {
            settings: &self.settings,
            nodes: &self.nodes,
            pipelines: &self.pipelines,
            containers: &self.containers,
            replicas: &self.replicas,
            pending: &mut self.pending,
            moves: &mut self.moves,
            histories: &mut self.histories,
        };
        iteration.next(&mut balancing, now)
    }
}
