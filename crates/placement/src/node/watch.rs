//! Heartbeats, and the effects of missing ones.

use types::{DatanodeId, OperationalState, PipelineState};

use crate::replica::backoff::{Backoffs, watch_backoffs};
use crate::replica::report::forget_replicas_of;
use crate::settings::Settings;
use crate::state::change::Change;
use crate::state::decision::Decision;
use crate::state::history::Histories;
use crate::state::node::Health;
use crate::state::nodes::Nodes;
use crate::state::pending::PendingTasks;
use crate::state::pipeline::{PipelineEntry, Pipelines};
use crate::state::replica::Replicas;
use crate::time::Millis;

/// A node's health changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shift {
    /// The node.
    pub node: DatanodeId,
    /// Its health before.
    pub from: Health,
    /// Its health now.
    pub to: Health,
}

/// A heartbeat of `node`. `None` when the node is unknown and has to register; else the shift
/// back to HEALTHY, if there was one. A DEAD node has to register too: its replicas were
/// forgotten.
pub(crate) fn heartbeat(nodes: &mut Nodes, node: DatanodeId, now: Millis) -> Option<Option<Shift>> {
    let entry = nodes.get_mut(node).filter(|n| n.health != Health::Dead)?;
    entry.last_heartbeat = entry.last_heartbeat.max(now);
    let from = std::mem::replace(&mut entry.health, Health::Healthy);
    Some((from != Health::Healthy).then_some(Shift { node, from, to: Health::Healthy }))
}

/// State that a check of all nodes reads and changes.
#[derive(Debug)]
pub(crate) struct Watching<'a> {
    pub settings: &'a Settings,
    pub pipelines: &'a Pipelines,
    pub nodes: &'a mut Nodes,
    pub replicas: &'a mut Replicas,
    pub pending: &'a mut PendingTasks,
    pub backoffs: &'a mut Backoffs,
    pub histories: &'a mut Histories,
    /// Time of the first check of all nodes.
    pub watched_since: &'a mut Option<Millis>,
}

impl Watching<'_> {
    /// Checks the age of every node's last heartbeat. Pipelines of nodes that are STALE or DEAD, or
    /// that have not registered in the time after which they would be DEAD, are closed; this is
    /// decided again each time, because decisions of a follower are dropped. The replicas of a node
    /// that became DEAD are forgotten.
    pub fn watch(&mut self, now: Millis) -> (Vec<Shift>, Decision) {
        let mut shifts = Vec::new();
        for node in self.nodes.iter_mut() {
            let age = now.saturating_sub(node.last_heartbeat);
            let to = match age {
                _ if age >= self.settings.dead_after => Health::Dead,
                _ if age >= self.settings.stale_after => Health::Stale,
                _ => Health::Healthy,
            };
            // Only a heartbeat improves a node's health.
            if to > node.health {
                shifts.push(Shift { node: node.details.id, from: node.health, to });
                node.health = to;
            }
        }
        let decision = self.close_pipelines_of_silent_nodes(now);
        for shift in &shifts {
            if shift.to == Health::Dead {
                self.pending.forget_node(shift.node);
                self.pending.note_change();
                // One in maintenance is expected to be down, and back with its replicas.
                let away = self
                    .nodes
                    .get(shift.node)
                    .is_some_and(|n| n.details.op_state == OperationalState::InMaintenance);
                if !away {
                    let Self { replicas, histories, backoffs, pending, .. } = self;
                    forget_replicas_of(replicas, histories, backoffs, pending, shift.node, now);
                }
            }
        }
        watch_backoffs(self.backoffs, self.pending, now);
        (shifts, decision)
    }

    /// Closes the pipelines that lack a member.
    fn close_pipelines_of_silent_nodes(&mut self, now: Millis) -> Decision {
        let since = *self.watched_since.get_or_insert(now);
        let strangers_are_gone = now.saturating_sub(since) >= self.settings.dead_after;
        let is_silent = |id| match self.nodes.get(id) {
            Some(node) => node.health != Health::Healthy,
            None => strangers_are_gone,
        };
        let lacks_a_member = |pipeline: &&PipelineEntry| {
            pipeline.record.state != PipelineState::Closed
                && pipeline.record.members.iter().any(|member| is_silent(member.id))
        };
        let changes = self
            .pipelines
            .iter()
            .filter(lacks_a_member)
            .map(|pipeline| Change::ClosePipeline { id: pipeline.record.id, now })
            .collect();
        Decision { changes, ..Decision::default() }
    }
}
