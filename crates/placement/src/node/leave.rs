//! Nodes that leave service: their obstacles, and the end of their transition.
//!
//! A node has left when it is in no pipeline and every container with a replica on it can do
//! without it: it is closed, and has enough good replicas on other nodes (for maintenance, enough
//! that stay online).

use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId, OperationalState, PipelineId};

use super::serve::{Serving, close_pipelines_of};
use crate::replica::Replication;
use crate::settings::Settings;
use crate::state::container::Containers;
use crate::state::decision::Decision;
use crate::state::node::Health;
use crate::state::nodes::Nodes;
use crate::time::Millis;

/// Containers named per kind at most.
const NAMED: usize = 10_000;

/// Obstacles that prevent a node from leaving.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Obstacles {
    /// Pipelines that still exist.
    pub pipelines: Vec<PipelineId>,
    /// Containers with too few good replicas elsewhere.
    pub under_replicated: Vec<ContainerId>,
    /// Containers that are not closed yet.
    pub unclosed: Vec<ContainerId>,
    /// Number of containers with a replica there that is enough elsewhere.
    pub done: usize,
    /// Their bytes.
    pub bytes_done: u64,
    /// Bytes of the others.
    pub bytes_left: u64,
}

impl Obstacles {
    fn note_done(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(1);
        self.bytes_done = self.bytes_done.saturating_add(bytes);
    }

    /// Returns `true` if there is none.
    pub fn is_none(&self) -> bool {
        self.pipelines.is_empty() && self.under_replicated.is_empty() && self.unclosed.is_empty()
    }
}

/// A node that leaves, or one whose maintenance ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeavingNode {
    /// The node.
    pub node: DatanodeId,
    /// Its state after this check.
    pub state: OperationalState,
    /// Its remaining obstacles.
    pub obstacles: Obstacles,
}

/// Returns the obstacles that prevent a node from leaving.
pub(crate) fn obstacles(
    on: &Replication<'_>,
    containers: &Containers,
    id: DatanodeId,
) -> Obstacles {
    let mut found = Obstacles::default();
    let Some(node) = on.nodes.get(id) else { return found };
    let maintenance = matches!(
        node.details.op_state,
        OperationalState::EnteringMaintenance | OperationalState::InMaintenance
    );
    found.pipelines = on
        .pipelines
        .of_node(id)
        .into_iter()
        .filter(|p| on.pipelines.accepts_or_will_accept_writes(*p))
        .collect();
    let mut ids: Vec<_> = on.replicas.on_node(id).collect();
    ids.sort_unstable();
    for container in ids {
        let Some(c) = containers.get(container) else { continue };
        let bytes = on.replicas.on(container, id).map_or(0, |replica| replica.used_bytes);
        let list = match c.state {
            LifeCycleState::Deleting | LifeCycleState::Deleted => continue,
            LifeCycleState::Closed if c.config.is_ec() => {
                let Some(replica) = on.replicas.on(container, id) else { continue };
                let index = replica.replica_index;
                let count = on.ec_replica_count(c).unwrap_or_default();
                if count.closing.get(&index).is_some_and(|nodes| nodes.contains(&id)) {
                    &mut found.unclosed
                } else if !count.is_on_its_way(index, id) || count.does_without(index, maintenance)
                {
                    found.note_done(bytes);
                    continue;
                } else {
                    &mut found.under_replicated
                }
            }
            LifeCycleState::Closed | LifeCycleState::QuasiClosed => {
                let Some(count) = on.replica_count(c) else { continue };
                // In maintenance a replica may be unreachable; with decommissioning it is lost.
                let enough = match maintenance {
                    true => count.missing(false) == 0,
                    false => {
                        // Replicas on unreachable nodes may be lost when this one leaves.
                        let others = count.heard.len().saturating_add(count.maintenance.len());
                        others >= count.required && count.missing(false) == 0
                    }
                };
                // Without any good replica there is nothing to copy; the report lists it.
                if enough || count.is_lost() {
                    found.note_done(bytes);
                    continue;
                }
                &mut found.under_replicated
            }
            _ => &mut found.unclosed,
        };
        if list.len() < NAMED {
            list.push(container);
        }
        found.bytes_left = found.bytes_left.saturating_add(bytes);
    }
    found
}

/// Checks all nodes that leave service, or whose maintenance is over.
pub(crate) fn check_leaving_nodes(
    on: &mut Serving<'_>,
    settings: &Settings,
    containers: &Containers,
    now: Millis,
) -> (Vec<LeavingNode>, Decision) {
    use OperationalState::{
        Decommissioned, Decommissioning, EnteringMaintenance, InMaintenance, InService,
    };
    let mut looked_at = Vec::new();
    let mut decision = Decision::default();
    let on_their_way: Vec<_> = on
        .nodes
        .iter()
        .filter(|n| !matches!(n.details.op_state, InService | Decommissioned))
        .map(|n| (n.details.id, n.details.op_state, n.details.op_state_expiry, n.health))
        .collect();
    for (id, state, expiry, health) in on_their_way {
        let over = u64::try_from(expiry).is_ok_and(|expiry| expiry > 0 && now / 1_000 >= expiry);
        let obstacles = obstacles(&on.replication(settings), containers, id);
        let to = match state {
            EnteringMaintenance | InMaintenance if over => InService,
            // It cannot be emptied any more: its containers are copied as those of any dead
            // node.
            Decommissioning | EnteringMaintenance if health == Health::Dead => InService,
            Decommissioning if obstacles.is_none() => Decommissioned,
            EnteringMaintenance if obstacles.is_none() => InMaintenance,
            state => state,
        };
        if to != state {
            let expiry = if to == InMaintenance { expiry } else { 0 };
            decision.merge(on.set_op_state(id, to, expiry, now));
        } else {
            note_left_bytes(on.nodes, id, obstacles.bytes_left, now);
            // A pipeline that was created before the node began to leave, and reported after.
            decision.merge(close_pipelines_of(on.pipelines, id, now));
        }
        if state != InMaintenance || to != state {
            looked_at.push(LeavingNode { node: id, state: to, obstacles });
        }
    }
    (looked_at, decision)
}

fn note_left_bytes(nodes: &mut Nodes, id: DatanodeId, bytes: u64, now: Millis) {
    if let Some(node) = nodes.get_mut(id) {
        node.left_bytes.note(now, bytes);
    }
}
