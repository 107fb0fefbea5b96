//! Registration of a DataNode.

use types::{DatanodeDetails, DatanodeId, OperationalState, PipelineId, PipelineState};

use crate::cluster::Cluster;
use crate::replica::backoff::end_backoff;
use crate::state::decision::Decision;
use crate::state::node::{Health, Node, Storage};
use crate::state::order::OrderKind;
use crate::time::Millis;

/// What a registration meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registered {
    /// A node not seen since the start.
    New,
    /// A known node again, where it was.
    Reregistered,
    /// A known node at another address.
    Moved,
}

impl Cluster {
    /// A node registers, listing the pipelines whose groups it has on disk. Its container report is
    /// handed to [`Cluster::report_all_replicas`], its pipeline report to
    /// [`Cluster::report_pipelines`], by the caller.
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
        // What an operator wants of a node that is known here counts; of another one, what it
        // remembers itself.
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
        end_backoff(&mut self.backoffs, &mut self.pending, of_node);
        self.deletions.forget_sent_to(id);
        let address_changed = self.pipelines.refresh_member(&details);
        let mut decision = Decision::default();
        let wanted = (details.op_state, details.op_state_expiry);
        if wanted != told {
            let (state, expiry) = wanted;
            decision.order(id, OrderKind::SetOperationalState { state, expiry });
        }
        for pipeline in self.pipelines.of_node(id) {
            self.rejoin(id, pipeline, pipelines_on_disk, address_changed, now, &mut decision);
        }
        (registered, decision)
    }

    fn rejoin(
        &mut self,
        node: DatanodeId,
        id: PipelineId,
        on_disk: &[PipelineId],
        address_changed: bool,
        now: Millis,
        decision: &mut Decision,
    ) {
        // Of one without a group there is nothing to rejoin.
        let entry = self.pipelines.get(id).filter(|e| !e.record.config.is_ec());
        let Some(entry) = entry else { return };
        // Those that have not reported it are told when they register, or have lost it.
        let members = entry.reported.clone();
        let listed = on_disk.contains(&id);
        match entry.record.state {
            PipelineState::Closed => {}
            PipelineState::Allocated if !listed => {
                // It may have reported the group, and lost it since.
                self.pipelines.forget_report(id, node);
                decision.order(node, OrderKind::CreatePipeline(id));
            }
            // Until it is closed nothing may have the node begin it anew: the group it lost may
            // have decided something.
            _ if !listed => {
                self.pipelines.forget_report(id, node);
                decision.changes.push(crate::state::change::Change::ClosePipeline { id, now });
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
}
