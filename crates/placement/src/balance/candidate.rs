//! Replicas that may move.

use std::collections::BTreeSet;

use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId};

use crate::container::history::note_order;
use crate::replica::Replication;
use crate::replica::moving::{Move, Moves};
use crate::settings::Settings;
use crate::state::balancer::Configuration;
use crate::state::container::{Container, Containers};
use crate::state::history::Histories;
use crate::state::node::Node;
use crate::state::nodes::Nodes;
use crate::state::order::Order;
use crate::state::pending::PendingTasks;
use crate::state::pipeline::Pipelines;
use crate::state::replica::{ReplicaState, Replicas};
use crate::time::Millis;

/// Cause of a move, in the history of its container.
const WHY: &str = "the container balancer";

/// State that the choice of a move reads, and that its start changes.
#[derive(Debug)]
pub(crate) struct Balancing<'a> {
    pub settings: &'a Settings,
    pub nodes: &'a Nodes,
    pub pipelines: &'a Pipelines,
    pub containers: &'a Containers,
    pub replicas: &'a Replicas,
    pub pending: &'a mut PendingTasks,
    pub moves: &'a mut Moves,
    pub histories: &'a mut Histories,
}

impl Balancing<'_> {
    pub(super) fn replication(&self) -> Replication<'_> {
        let Self { settings, nodes, pipelines, replicas, pending, .. } = self;
        Replication { settings, nodes, pipelines, replicas, pending }
    }

    /// The container of the replica on `source`, if that may move: it is not empty, all replicas
    /// are on reachable nodes, and no other order for them is pending.
    pub(super) fn movable(
        &self,
        configuration: &Configuration,
        id: ContainerId,
        source: DatanodeId,
        now: Millis,
    ) -> Option<&Container> {
        let c = self.containers.get(id).filter(|c| admits(configuration, c) && !c.suppressed)?;
        let replica = self.replicas.on(id, source)?;
        let same = match c.state {
            LifeCycleState::Closed => replica.state == ReplicaState::Closed,
            _ => replica.state == ReplicaState::QuasiClosed,
        };
        let rests = self.pending.of(id).is_empty() && self.moves.of(id).is_none();
        (same && replica.used_bytes > 0 && rests && is_whole(&self.replication(), c, now))
            .then_some(c)
    }

    /// Begins to move a replica from one node to another: its copy may take until the first time,
    /// all of it until the second.
    pub(super) fn start(
        &mut self,
        id: ContainerId,
        nodes: (DatanodeId, DatanodeId),
        (copy_until, until): (Millis, Millis),
        now: Millis,
    ) -> Option<(Order, Move)> {
        let order = self.moves.start(self.replicas, self.pending, id, nodes, copy_until, until)?;
        note_order(self.histories, self.containers, id, &order, Some(WHY), now);
        Some((order, self.moves.of(id).copied()?))
    }
}

/// Returns `true` if the configuration includes the container.
fn admits(configuration: &Configuration, c: &Container) -> bool {
    let state = match c.state {
        LifeCycleState::Closed => true,
        LifeCycleState::QuasiClosed => configuration.include_non_standard,
        _ => false,
    };
    let included = configuration.include_containers.is_empty()
        || configuration.include_containers.contains(&c.id);
    state && included && !configuration.exclude_containers.contains(&c.id)
}

/// Returns `true` if all replicas are on reachable nodes and need no repair.
fn is_whole(on: &Replication<'_>, c: &Container, now: Millis) -> bool {
    if c.config.is_ec() {
        let Some(count) = on.ec_replica_count_at(c, Some(now)) else { return false };
        let all = (1..=count.required).all(|index| count.heard.contains_key(&index));
        return all && count.is_fine() && !on.is_crowded(c, &count);
    }
    let Some(count) = on.replica_count_at(c, Some(now)) else { return false };
    count.is_fine() && count.heard.len() == count.required
}

/// Returns `true` if a list contains the node's host name or address.
pub(super) fn is_named(list: &BTreeSet<String>, node: &Node) -> bool {
    list.contains(&node.details.host) || list.contains(&node.details.ip)
}
