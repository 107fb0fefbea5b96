//! DataNodes report their replicas, all of them or what changed.

use proto::hdds::LifeCycleState;
use rustc_hash::FxHashSet;
use types::{ContainerId, DatanodeId};

use crate::cluster::Cluster;
use crate::state::container::Usage;
use crate::state::decision::Decision;
use crate::state::history::Event;
use crate::state::lifecycle;
use crate::state::replica::{Replica, ReplicaState};
use crate::time::Millis;

impl Cluster {
    /// All replicas of `node`: what is not among them is gone.
    pub fn report_all_replicas(
        &mut self,
        node: DatanodeId,
        reports: Vec<(ContainerId, Replica)>,
        now: Millis,
    ) -> Decision {
        self.pending.note_change();
        let listed: FxHashSet<_> = reports.iter().map(|(id, _)| *id).collect();
        let gone: Vec<_> = self.replicas.on_node(node).filter(|id| !listed.contains(id)).collect();
        for id in gone {
            self.note_gone(id, node, now);
            self.replicas.remove(id, node);
            self.pending.gone(id, node);
            self.end_backoff([id]);
        }
        self.report_replicas(reports, now)
    }

    /// Replicas that changed.
    pub fn report_replicas(
        &mut self,
        reports: Vec<(ContainerId, Replica)>,
        now: Millis,
    ) -> Decision {
        let mut decision = Decision::default();
        for (id, mut replica) in reports {
            let node = replica.node;
            replica.lags = self.lags(id, &replica);
            let before = self.replicas.on(id, node).map_or(ReplicaState::Deleted, |r| r.state);
            if before != replica.state {
                self.end_backoff([id]);
            }
            if replica.state == ReplicaState::Deleted {
                self.note_gone(id, node, now);
                self.replicas.remove(id, node);
                self.pending.gone(id, node);
            } else {
                let awaited = self.pending.arrived(id, node);
                if awaited {
                    self.repaired.note(now, replica.used_bytes);
                }
                self.note_replica(id, &replica, awaited, now);
                if self.pending.stayed(id, node, now) {
                    self.histories.note(id, now, Event::Late { node });
                }
                let before = self.replicas.on(id, node).map(|replica| replica.storage_type);
                if before.is_some_and(|before| before != replica.storage_type) {
                    self.pending.relocated(id, node);
                }
                self.replicas.put(id, replica);
                if self.safe_mode.is_on()
                    && let Some(container) = self.containers.get(id)
                {
                    let known = self.replicas.different(id, Some(container.config));
                    self.safe_mode.note_replicas(id, known);
                }
            }
            self.refresh_usage(id);
            self.note_left_over(id, node);
            decision.merge(self.reconcile(id, node, now));
        }
        decision
    }

    /// Whether a replica that is being reported may have blocks that were deleted. A node whose
    /// replica is known has confirmed a transaction before it is forgotten, and reports that it has
    /// taken it from then on.
    fn lags(&self, id: ContainerId, replica: &Replica) -> bool {
        let forgotten = self.containers.get(id).map_or(0, |c| c.delete_transaction);
        replica.delete_transaction < forgotten
    }

    /// What the replicas say about the container's size: the largest of them while it is written,
    /// the closed ones after. Without replicas the record keeps what it has, and so does that of a
    /// container that is deleted.
    fn refresh_usage(&mut self, id: ContainerId) {
        let Some(container) = self.containers.get(id) else { return };
        if matches!(container.state, LifeCycleState::Deleting | LifeCycleState::Deleted) {
            return;
        }
        let closed = lifecycle::is_closed(container.state);
        let counted = self.replicas.of(id).iter().filter(|r| !closed || r.state.is_final());
        let largest = counted.fold(None::<Usage>, |all, r| {
            let all = all.unwrap_or_default();
            Some(Usage {
                used_bytes: all.used_bytes.max(r.used_bytes),
                keys: all.keys.max(r.keys),
                sequence_id: all.sequence_id.max(r.sequence_id),
            })
        });
        if let Some(usage) = largest {
            self.containers.set_usage(id, usage);
        }
    }
}
