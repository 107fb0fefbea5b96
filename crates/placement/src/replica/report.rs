//! DataNodes report their replicas, all of them or what changed.

use rustc_hash::FxHashSet;
use types::{ContainerId, DatanodeId};

use crate::change::Usage;
use crate::{Cluster, Decision, Millis, Replica, ReplicaState};

impl Cluster {
    /// All replicas of `node`: what is not among them is gone.
    pub fn report_all_replicas(
        &mut self,
        node: DatanodeId,
        reports: Vec<(ContainerId, Replica)>,
        now: Millis,
    ) -> Decision {
        let listed: FxHashSet<_> = reports.iter().map(|(id, _)| *id).collect();
        let gone: Vec<_> = self.replicas.on_node(node).filter(|id| !listed.contains(id)).collect();
        for id in gone {
            self.replicas.remove(id, node);
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
        for (id, replica) in reports {
            let node = replica.node;
            if replica.state == ReplicaState::Deleted {
                self.replicas.remove(id, node);
            } else {
                if self.containers.get(id).is_some() {
                    self.safe_mode.note_replica(id);
                }
                self.replicas.put(id, replica);
            }
            self.refresh_usage(id);
            decision.merge(self.reconcile(id, node, now));
        }
        decision
    }

    /// What the replicas say about the container's size: the largest of them while it is written, the settled ones
    /// after. Without replicas the record keeps what it has.
    fn refresh_usage(&mut self, id: ContainerId) {
        let Some(container) = self.containers.get(id) else { return };
        let settled = super::super::container::lifecycle::is_settled(container.state);
        let counted = self.replicas.of(id).iter().filter(|r| !settled || r.state.is_final());
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
