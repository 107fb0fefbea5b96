//! Registration of a DataNode.

use types::{DatanodeDetails, DatanodeId, OperationalState, PipelineId, PipelineState};

use crate::replica::backoff::{Backoffs, end_backoff};
use crate::state::change::Change;
use crate::state::decision::Decision;
use crate::state::deletion::DeletionLog;
use crate::state::node::{Health, Node, Storage};
use crate::state::nodes::Nodes;
use crate::state::order::OrderKind;
use crate::state::pending::PendingTasks;
use crate::state::pipeline::Pipelines;
use crate::state::replica::Replicas;
use crate::time::Millis;

/// Effect of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registered {
    /// A node not seen since the start.
    New,
    /// A known node again, at its address.
    Reregistered,
    /// A known node at another address.
    Moved,
}

/// State that a registration changes.
#[derive(Debug)]
pub(crate) struct Registration<'a> {
    pub nodes: &'a mut Nodes,
    pub pipelines: &'a mut Pipelines,
    pub replicas: &'a Replicas,
    pub pending: &'a mut PendingTasks,
    pub backoffs: &'a mut Backoffs,
    pub deletions: &'a mut DeletionLog,
}

impl Registration<'_> {
    /// Registers a node, which lists the pipelines whose groups it has on disk. The caller handles
    /// the reports of its replicas and pipelines.
    ///
    /// Pipelines of the node that it does not list: one that is ALLOCATED is ordered again; of an
    /// OPEN one the node has lost its log, so it must never vote in that group again: the pipeline
    /// is closed. A node that moved makes the members of its pipelines learn its new address.
    pub fn register(
        &mut self,
        details: DatanodeDetails,
        storage: Vec<Storage>,
        pipelines_on_disk: &[PipelineId],
        now: Millis,
    ) -> (Registered, Decision) {
        let id = details.id;
        let registered = match self.nodes.get(id) {
            None => Registered::New,
            Some(known)
                if known.details.ip == details.ip && known.details.ports == details.ports =>
            {
                Registered::Reregistered
            }
            Some(_) => Registered::Moved,
        };
        // For a node that is known here, SCM's operational state counts; for another one, that
        // which the node has stored.
        let mut details = details;
        let known = self.nodes.get(id).map(|n| (n.details.op_state, n.details.op_state_expiry));
        let told = (details.op_state, details.op_state_expiry);
        let before = self.nodes.get(id);
        let leaving_since = before.and_then(|n| n.leaving_since);
        let left_bytes = before.map(|n| n.left_bytes.clone()).unwrap_or_default();
        (details.op_state, details.op_state_expiry) = known.unwrap_or(told);
        let on_its_way = matches!(
            details.op_state,
            OperationalState::Decommissioning | OperationalState::EnteringMaintenance
        );
        let leaving_since = on_its_way.then(|| leaving_since.unwrap_or(now));
        let node = Node {
            details: details.clone(),
            health: Health::Healthy,
            last_heartbeat: now,
            registered: now,
            storage,
            leaving_since,
            left_bytes,
            log_disks: None,
            confirmed: true,
        };
        self.nodes.put(node);
        self.pending.registered(id);
        let of_node: Vec<_> = self.replicas.on_node(id).collect();
        end_backoff(self.backoffs, self.pending, of_node);
        self.deletions.forget_sent_to(id);
        let address_changed = self.pipelines.refresh_member(&details);
        let mut decision = Decision::default();
        let wanted = (details.op_state, details.op_state_expiry);
        if wanted != told {
            let (state, expiry) = wanted;
            decision.order(id, OrderKind::SetOperationalState { state, expiry });
        }
        for pipeline in self.pipelines.of_node(id) {
            let of = (pipeline, pipelines_on_disk.contains(&pipeline));
            rejoin(self.pipelines, id, of, address_changed, now, &mut decision);
        }
        (registered, decision)
    }
}

/// Handles a pipeline of a node that registers, which lists it as on disk or not.
fn rejoin(
    pipelines: &mut Pipelines,
    node: DatanodeId,
    (id, is_listed): (PipelineId, bool),
    address_changed: bool,
    now: Millis,
    decision: &mut Decision,
) {
    // A pipeline without a group has nothing to rejoin.
    let entry = pipelines.get(id).filter(|e| !e.record.config.is_ec());
    let Some(entry) = entry else { return };
    // Members that have not reported it get it when they register, or have lost it.
    let members = entry.reported.clone();
    match entry.record.state {
        PipelineState::Closed => {}
        PipelineState::Allocated if !is_listed => {
            // It may have reported the group, and lost it since.
            pipelines.forget_report(id, node);
            decision.order(node, OrderKind::CreatePipeline(id));
        }
        // No order may recreate the group on the node until the pipeline is closed: the lost group
        // may have decided something.
        _ if !is_listed => {
            pipelines.forget_report(id, node);
            decision.changes.push(Change::ClosePipeline { id, now });
        }
        // The node itself may hold old addresses of the others; they may hold an old one of it.
        _ => {
            decision.order(node, OrderKind::CreatePipeline(id));
            if address_changed {
                for member in members.into_iter().filter(|m| *m != node) {
                    decision.order(member, OrderKind::CreatePipeline(id));
                }
            }
        }
    }
}
