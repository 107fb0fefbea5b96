//! Metrics of SCM, all in one place.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use placement::replica::moving::{Move, MoveResult};
use placement::{Cluster, Health};
use proto::hdds::LifeCycleState;
use service::{Counter, MetricsRegistry, RpcMetrics};
use types::PipelineState;

/// Metrics of SCM.
pub struct Metrics {
    /// The endpoint for clients.
    pub client: RpcMetrics,
    /// The endpoint for OM.
    pub block: RpcMetrics,
    /// The endpoint for DataNodes.
    pub datanode: RpcMetrics,
    /// Blocks handed out.
    pub blocks_allocated: Counter,
    /// Blocks received for deletion.
    pub blocks_deleted: Counter,
    /// Blocks sent to DataNodes for deletion.
    pub deletions_sent: Counter,
    /// Transactions of the deletion log finished.
    pub deletions_finished: Counter,
    /// Copies and deletions of replicas ordered.
    pub repairs: Counter,
    /// Containers that the balancer has moved.
    pub moves_completed: Counter,
    /// Their bytes.
    pub moved_bytes: Counter,
    /// Failed moves.
    pub moves_failed: Counter,
}

impl Metrics {
    /// Registers all metrics; values that can be computed on request are.
    pub fn new(registry: &MetricsRegistry, cluster: &Arc<Mutex<Cluster>>) -> Self {
        watch_each(registry, "datanodes", "DataNodes", "health", cluster, |c| {
            let count = |health: Health| (health.to_string().to_lowercase(), c.nodes.count(health));
            [Health::Healthy, Health::Stale, Health::Dead].map(count).to_vec()
        });
        watch_each(registry, "pipelines", "Pipelines", "state", cluster, |c| {
            let count = |(name, state): (&str, PipelineState)| {
                (name.to_owned(), c.pipelines.iter().filter(|e| e.record.state == state).count())
            };
            let states = [
                ("allocated", PipelineState::Allocated),
                ("open", PipelineState::Open),
                ("closed", PipelineState::Closed),
            ];
            states.map(count).to_vec()
        });
        watch_each(registry, "containers", "Containers", "state", cluster, |c| {
            let name = |state| LifeCycleState::as_str_name(state).to_lowercase();
            let states = placement::replica::health::STATES;
            states.iter().map(|state| (name(state), c.containers.count(*state))).collect()
        });
        watch(
            registry,
            "deletion_log_transactions",
            "Transactions of the deletion log",
            cluster,
            |c| c.deletions.summary().transactions as usize,
        );
        watch(registry, "deletion_log_blocks", "Blocks in the deletion log", cluster, |c| {
            c.deletions.summary().blocks as usize
        });
        watch(registry, "replica_copies_pending", "Copies of replicas under way", cluster, |c| {
            c.pending.copies()
        });
        watch(registry, "replica_deletions_pending", "Replicas being deleted", cluster, |c| {
            c.pending.deletions()
        });
        watch(registry, "balancer_running", "Whether the container balancer runs", cluster, |c| {
            usize::from(c.balancer.as_ref().is_some_and(|b| b.should_run))
        });
        watch(registry, "balancer_moves_pending", "Containers being moved", cluster, |c| {
            c.moves.iter().count()
        });
        watch(registry, "apply_panics", "Changes refused because of a bug", cluster, |c| {
            usize::try_from(c.refused.panics).unwrap_or(usize::MAX)
        });
        let help = "Changes that this release does not support";
        watch(registry, "unknown_changes", help, cluster, |c| {
            usize::try_from(c.refused.unknown).unwrap_or(usize::MAX)
        });
        watch(registry, "safe_mode", "Whether SCM is in safe mode", cluster, |c| {
            usize::from(c.safe_mode.is_on())
        });
        Self {
            client: RpcMetrics::new(registry, "client"),
            block: RpcMetrics::new(registry, "block"),
            datanode: RpcMetrics::new(registry, "datanode"),
            blocks_allocated: registry.counter("blocks_allocated", "Blocks handed out"),
            blocks_deleted: registry.counter("blocks_deleted", "Blocks received for deletion"),
            deletions_sent: registry
                .counter("deletions_sent", "Blocks sent to DataNodes for deletion"),
            repairs: registry
                .counter("replica_repairs", "Copies and deletions of replicas ordered"),
            moves_completed: registry
                .counter("balancer_moves_completed", "Containers that the balancer has moved"),
            moved_bytes: registry
                .counter("balancer_moved_bytes", "Bytes of containers that the balancer has moved"),
            moves_failed: registry.counter(
                "balancer_moves_failed",
                "Moves of the container balancer that failed or took too long",
            ),
            deletions_finished: registry
                .counter("deletions_finished", "Transactions that all replicas have acknowledged"),
        }
    }

    /// A move of the container balancer has ended.
    pub fn count_move(&self, moved: &Move, result: MoveResult) {
        if result == MoveResult::Completed {
            self.moves_completed.inc();
            self.moved_bytes.inc_by(moved.bytes);
        } else {
            self.moves_failed.inc();
        }
    }
}

fn watch(
    registry: &MetricsRegistry,
    name: &str,
    help: &str,
    cluster: &Arc<Mutex<Cluster>>,
    value: impl Fn(&Cluster) -> usize + Send + Sync + 'static,
) {
    let cluster: Weak<Mutex<Cluster>> = Arc::downgrade(cluster);
    registry
        .gauge_fn(name, help, move || cluster.upgrade().map_or(0.0, |c| value(&c.lock()) as f64));
}

/// The same of each value of a label.
fn watch_each(
    registry: &MetricsRegistry,
    name: &str,
    help: &str,
    label: &'static str,
    cluster: &Arc<Mutex<Cluster>>,
    values: impl Fn(&Cluster) -> Vec<(String, usize)> + Send + Sync + 'static,
) {
    let cluster: Weak<Mutex<Cluster>> = Arc::downgrade(cluster);
    registry.gauges_fn(name, help, label, move || {
        let Some(cluster) = cluster.upgrade() else { return Vec::new() };
        let counts = values(&cluster.lock());
        counts.into_iter().map(|(value, count)| (value, count as f64)).collect()
    });
}
