//! DataNodes report their replicas, all of them or what changed.

use proto::hdds::LifeCycleState;
use rustc_hash::FxHashSet;
use types::{ContainerId, DatanodeId};

use super::backoff::{Backoffs, end_backoff};
use super::progress::Repaired;
use super::reconcile::Reconciling;
use crate::container::history::{note_gone, note_replica};
use crate::container::{Reported, left_over};
use crate::safemode::SafeMode;
use crate::settings::Settings;
use crate::state::container::{Containers, Usage};
use crate::state::decision::Decision;
use crate::state::history::{Event, Histories};
use crate::state::lifecycle;
use crate::state::nodes::Nodes;
use crate::state::pending::PendingTasks;
use crate::state::pipeline::Pipelines;
use crate::state::replica::{Replica, ReplicaState, Replicas};
use crate::time::Millis;

/// State that a report of replicas reads and changes.
#[derive(Debug)]
pub(crate) struct Reporting<'a> {
    pub settings: &'a Settings,
    pub nodes: &'a Nodes,
    pub pipelines: &'a Pipelines,
    pub containers: &'a mut Containers,
    pub replicas: &'a mut Replicas,
    pub pending: &'a mut PendingTasks,
    pub backoffs: &'a mut Backoffs,
    pub repaired: &'a mut Repaired,
    pub histories: &'a mut Histories,
    pub safe_mode: &'a mut SafeMode,
}

impl Reporting<'_> {
    /// All replicas of `node`: replicas that are not among them do not exist any more.
    pub fn report_all(
        &mut self,
        node: DatanodeId,
        reports: Vec<(ContainerId, Replica)>,
        now: Millis,
    ) -> Decision {
        self.pending.note_change();
        let listed: FxHashSet<_> = reports.iter().map(|(id, _)| *id).collect();
        let gone: Vec<_> = self.replicas.on_node(node).filter(|id| !listed.contains(id)).collect();
        for id in gone {
            self.forget(id, node, now);
            end_backoff(self.backoffs, self.pending, [id]);
        }
        self.report(reports, now)
    }

    /// Replicas that changed.
    pub fn report(&mut self, reports: Vec<(ContainerId, Replica)>, now: Millis) -> Decision {
        let mut decision = Decision::default();
        for (id, mut replica) in reports {
            let node = replica.node;
            replica.lags = lags(self.containers, id, &replica);
            let before = self.replicas.on(id, node).map_or(ReplicaState::Deleted, |r| r.state);
            if before != replica.state {
                end_backoff(self.backoffs, self.pending, [id]);
            }
            if replica.state == ReplicaState::Deleted {
                self.forget(id, node, now);
            } else {
                let awaited = self.pending.arrived(id, node);
                if awaited {
                    self.repaired.note(now, replica.used_bytes);
                }
                // In safe mode first reports are expected, and no events.
                if !self.safe_mode.is_on() && self.containers.get(id).is_some() {
                    let before = self.replicas.on(id, node).map(|replica| replica.state);
                    note_replica(self.histories, id, &replica, before, awaited, now);
                }
                if self.pending.stayed(id, node, now) {
                    self.histories.note(id, now, Event::Late { node });
                }
                let before = self.replicas.on(id, node).map(|replica| replica.storage_type);
                if before.is_some_and(|before| before != replica.storage_type) {
                    self.pending.relocated(id, node);
                }
                if replica.state != ReplicaState::Unhealthy {
                    self.pending.mended(id, node);
                }
                self.replicas.put(id, replica);
                if self.safe_mode.is_on()
                    && let Some(container) = self.containers.get(id)
                {
                    let known = self.replicas.different(id, Some(container.config));
                    self.safe_mode.note_replicas(id, known);
                }
            }
            refresh_usage(self.containers, self.replicas, id);
            left_over::note(self.replicas, self.containers, id, node);
            decision.merge(self.reconciling().reconcile(id, node, now));
        }
        decision
    }

    fn reconciling(&self) -> Reconciling<'_> {
        let Self { settings, nodes, pipelines, containers, replicas, safe_mode, .. } = self;
        let reported = Reported { settings, nodes, pipelines, replicas };
        Reconciling { reported, containers, in_safe_mode: safe_mode.is_on() }
    }

    /// The node has no replica any more.
    fn forget(&mut self, id: ContainerId, node: DatanodeId, now: Millis) {
        note_gone(self.histories, self.containers, self.replicas, (id, node), now);
        self.replicas.remove(id, node);
        self.pending.gone(id, node);
        self.pending.mended(id, node);
    }
}

/// Returns `true` if a reported replica may have blocks that were deleted. A node whose replica is
/// known has confirmed a transaction before SCM forgets it, and reports it as applied from then on.
fn lags(containers: &Containers, id: ContainerId, replica: &Replica) -> bool {
    let forgotten = containers.get(id).map_or(0, |c| c.delete_transaction);
    replica.delete_transaction < forgotten
}

/// Updates the container's size from the replicas: the largest of them while it is written, the
/// closed ones afterwards. Without replicas the record keeps its size, and so does that of a
/// deleted container.
fn refresh_usage(containers: &mut Containers, replicas: &Replicas, id: ContainerId) {
    let Some(container) = containers.get(id) else { return };
    if matches!(container.state, LifeCycleState::Deleting | LifeCycleState::Deleted) {
        return;
    }
    let closed = lifecycle::is_closed(container.state);
    let counted = replicas.of(id).iter().filter(|r| !closed || r.state.is_final());
    let largest = counted.fold(None::<Usage>, |all, r| {
        let all = all.unwrap_or_default();
        Some(Usage {
            used_bytes: all.used_bytes.max(r.used_bytes),
            keys: all.keys.max(r.keys),
            sequence_id: all.sequence_id.max(r.sequence_id),
        })
    });
    if let Some(usage) = largest {
        containers.set_usage(id, usage);
    }
}

/// Forgets the replicas of a node that is dead.
pub(crate) fn forget_replicas_of(
    replicas: &mut Replicas,
    histories: &mut Histories,
    backoffs: &mut Backoffs,
    pending: &mut PendingTasks,
    node: DatanodeId,
    now: Millis,
) {
    let ids: Vec<_> = replicas.on_node(node).collect();
    for id in &ids {
        histories.note(*id, now, Event::Lost { node });
    }
    end_backoff(backoffs, pending, ids);
    replicas.forget_node(node);
}

/// The node that was to copy a replica to `target` reports that it failed.
pub(crate) fn copy_failed(
    pending: &mut PendingTasks,
    histories: &mut Histories,
    backoffs: &mut Backoffs,
    (id, target): (ContainerId, DatanodeId),
    now: Millis,
) {
    if pending.failed(id, target) {
        histories.note(id, now, Event::Failed { node: target });
        backoffs.failed(id, now);
    }
}
