//! Replicas of the cluster.

use types::{ContainerId, DatanodeId};

use super::Cluster;
use crate::replica::Replication;
use crate::replica::count::ReplicaCount;
use crate::replica::ec_count::EcReplicaCount;
use crate::replica::health::{self, HealthReport};
use crate::replica::moving::{Move, MoveResult};
use crate::replica::progress::{self, Progress};
use crate::replica::reconcile::Reconciling;
use crate::replica::repair::{self, Repairs, Round};
use crate::replica::report::{self, Reporting};
use crate::state::container::Container;
use crate::state::decision::Decision;
use crate::state::replica::Replica;
use crate::time::Millis;

impl Cluster {
    pub(crate) fn replication(&self) -> Replication<'_> {
        let Self { settings, nodes, pipelines, replicas, pending, .. } = self;
        Replication { settings, nodes, pipelines, replicas, pending }
    }

    fn reporting(&mut self) -> Reporting<'_> {
        Reporting {
            settings: &self.settings,
            nodes: &self.nodes,
            pipelines: &self.pipelines,
            containers: &mut self.containers,
            replicas: &mut self.replicas,
            pending: &mut self.pending,
            backoffs: &mut self.backoffs,
            repaired: &mut self.repaired,
            histories: &mut self.histories,
            safe_mode: &mut self.safe_mode,
        }
    }

    /// All replicas of `node`: replicas that are not among them do not exist any more.
    pub fn report_all_replicas(
        &mut self,
        node: DatanodeId,
        reports: Vec<(ContainerId, Replica)>,
        now: Millis,
    ) -> Decision {
        self.reporting().report_all(node, reports, now)
    }

    /// Replicas that changed.
    pub fn report_replicas(
        &mut self,
        reports: Vec<(ContainerId, Replica)>,
        now: Millis,
    ) -> Decision {
        self.reporting().report(reports, now)
    }

    /// The node that was to copy a replica to `target` reports that it failed.
    pub fn copy_failed(&mut self, id: ContainerId, target: DatanodeId, now: Millis) {
        let Self { pending, histories, backoffs, .. } = self;
        report::copy_failed(pending, histories, backoffs, (id, target), now);
    }

    /// Containers in transition: repeats the orders that the replicas have not followed.
    pub fn review_containers(&self, now: Millis) -> Decision {
        let (reported, in_safe_mode) = (self.reported(), self.safe_mode.is_on());
        Reconciling { reported, containers: &self.containers, in_safe_mode }.review(now)
    }

    /// Orders to close replicas of CLOSED containers that are not CLOSED and could be, once more:
    /// the order that answered their last report may be lost, or there was none, because the
    /// container was not CLOSED then. Checks up to `count` containers from `start` on.
    pub fn repeat_closes(&self, start: ContainerId, count: usize, now: Millis) -> Decision {
        repair::repeat_closes(&self.replication(), &self.containers, (start, count), now)
    }

    /// Checks up to `count` containers from `start` on, and orders copies and deletions within the
    /// limits of pending ones.
    pub fn repair_containers(&mut self, start: ContainerId, count: usize, now: Millis) -> Repairs {
        let mut round = Round {
            settings: &self.settings,
            nodes: &self.nodes,
            pipelines: &self.pipelines,
            containers: &self.containers,
            replicas: &self.replicas,
            deletions: &self.deletions,
            moves: &self.moves,
            destinations: &self.destinations,
            pending: &mut self.pending,
            backoffs: &mut self.backoffs,
            urgency: &mut self.urgency,
            storage_types: &mut self.storage_types,
            mending: &mut self.mending,
            histories: &mut self.histories,
        };
        round.run(start, count, now)
    }

    /// The replica count of a CLOSED or QUASI_CLOSED container; `None` for one in another state, or
    /// erasure coded. Reachability of nodes is as of the last [`Cluster::watch_nodes`].
    pub fn replica_count(&self, c: &Container) -> Option<ReplicaCount> {
        self.replication().replica_count(c)
    }

    /// The replica count of a CLOSED erasure coded container; `None` for any other.
    pub fn ec_replica_count(&self, c: &Container) -> Option<EcReplicaCount> {
        self.replication().ec_replica_count(c)
    }

    /// Counts the containers by state and by health.
    pub fn health_report(&self) -> HealthReport {
        health::report(&self.replication(), &self.containers)
    }

    /// The health of a container: one of [`HEALTHS`](health::HEALTHS).
    pub fn health(&self, c: &Container) -> &'static str {
        self.replication().health(c)
    }

    /// Progress of repairs.
    pub fn repair_progress(&self, now: Millis) -> Progress {
        progress::progress(&self.replication(), &self.containers, &self.repaired, now)
    }

    /// The moves that ended since the last call.
    pub fn review_moves(&mut self, now: Millis) -> Vec<(Move, MoveResult)> {
        self.moves.review(&self.containers, &self.replicas, &self.pending, now)
    }
}
