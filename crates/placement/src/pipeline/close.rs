//! Pipelines that failed to open, and the last steps of closed ones.
//!
//! A closed pipeline's groups are kept until every live member has closed the replicas of its
//! containers: they need the group to agree on the last write. Only then, or after the destroy
//! timeout, the groups are erased.

use proto::hdds::LifeCycleState;
use types::{DatanodeId, PipelineId, PipelineState};

use super::create::order_creation;
use super::ec::scrub_open_ec;
use crate::settings::Settings;
use crate::state::change::Change;
use crate::state::container::Containers;
use crate::state::decision::Decision;
use crate::state::nodes::Nodes;
use crate::state::order::OrderKind;
use crate::state::pipeline::Pipelines;
use crate::state::replica::Replicas;
use crate::time::{Millis, elapsed};

/// Time limit for the report of a new replica; nodes report them immediately.
const REPORT_TIMEOUT: Millis = 3_000;

/// State that a check of all pipelines reads and changes.
#[derive(Debug)]
pub(crate) struct Scrubbing<'a> {
    pub settings: &'a Settings,
    pub nodes: &'a Nodes,
    pub containers: &'a Containers,
    pub replicas: &'a Replicas,
    pub pipelines: &'a mut Pipelines,
}

impl Scrubbing<'_> {
    /// Checks all pipelines: gives up those ALLOCATED for too long, repeats orders without effect,
    /// deletes closed ones whose containers are closed.
    pub fn scrub(&mut self, now: Millis) -> Decision {
        let mut decision = Decision::default();
        for id in self.pipelines.ids() {
            let Some(entry) = self.pipelines.get(id) else { continue };
            match entry.record.state {
                PipelineState::Allocated => self.scrub_allocated(id, now, &mut decision),
                PipelineState::Closed => self.scrub_closed(id, now, &mut decision),
                PipelineState::Open if entry.record.config.is_ec() => {
                    scrub_open_ec(self.containers, id, now, &mut decision);
                }
                PipelineState::Open | PipelineState::Dormant => {}
            }
        }
        decision
    }

    fn scrub_allocated(&mut self, id: PipelineId, now: Millis, decision: &mut Decision) {
        let Some(entry) = self.pipelines.get(id) else { return };
        let age = elapsed(entry.record.created_ms, now);
        if age >= self.settings.allocated_timeout {
            decision.changes.push(Change::ClosePipeline { id, now });
        } else if now.saturating_sub(entry.last_order) >= self.settings.resend_after.min(2_000) {
            let reported = entry.reported.clone();
            let order = order_creation(self.pipelines, id, now);
            decision
                .orders
                .extend(order.orders.into_iter().filter(|o| !reported.contains(&o.node)));
        }
    }

    fn scrub_closed(&mut self, id: PipelineId, now: Millis, decision: &mut Decision) {
        let Some(entry) = self.pipelines.get(id) else { return };
        // Closed before a restart: the timeout counts from now on.
        let Some(closed) = entry.closed else {
            self.pipelines.note_closed(id, now);
            return;
        };
        let age = elapsed(closed, now);
        if age >= self.settings.destroy_timeout || self.containers_are_closed(id, age) {
            let has_group = !entry.record.config.is_ec();
            let members = entry.record.members.iter().filter(|_| has_group);
            let members: Vec<_> = members.map(|m| m.id).collect();
            for member in members {
                decision.order(member, OrderKind::ClosePipeline(id));
            }
            decision.changes.push(Change::RemovePipeline(id));
        }
    }

    /// Returns `true` if every live member has closed its replica of every container of the
    /// pipeline. A container without any reported replica by now was never written.
    fn containers_are_closed(&self, id: PipelineId, age: Millis) -> bool {
        let Some(entry) = self.pipelines.get(id) else { return true };
        let live = |m: &DatanodeId| self.nodes.is_healthy(*m);
        let live: Vec<_> = entry.record.members.iter().map(|m| m.id).filter(live).collect();
        self.containers.of_pipeline(id).into_iter().all(|container| {
            match self.containers.get(container).map(|c| c.state) {
                None | Some(LifeCycleState::Deleting | LifeCycleState::Deleted) => true,
                Some(LifeCycleState::Open) => false,
                Some(LifeCycleState::Closing) if self.replicas.of(container).is_empty() => {
                    age >= REPORT_TIMEOUT
                }
                Some(_) => live.iter().all(|node| {
                    self.replicas.on(container, *node).is_some_and(|r| r.state.is_final())
                }),
            }
        })
    }
}
