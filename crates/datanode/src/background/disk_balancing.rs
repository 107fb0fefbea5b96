//! The disk balancer in the background.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use proto::disk_balancer::DiskBalancerRunningStatus as Status;
use service::{BackgroundService, Progress};

use crate::disk_balancer::{BalancerError, carry_out, plan};
use crate::node::Node;
use crate::service_names;
use containerstore::StorageError;

/// Ozone's `DiskBalancerService`.
pub(crate) struct DiskBalancing {
    node: Weak<Node>,
    interval: Duration,
}

impl DiskBalancing {
    pub fn new(node: &Arc<Node>) -> Self {
        let interval = node.settings.disk_balancer.interval;
        Self { node: Arc::downgrade(node), interval }
    }
}

#[async_trait]
impl BackgroundService for DiskBalancing {
    fn name(&self) -> &str {
        service_names::DISK_BALANCER
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn run_once(&self) -> Progress {
        let Some(node) = self.node.upgrade() else { return Progress::idle() };
        match run(&node).await {
            Ok(progress) => progress,
            Err(error) => Progress::failed(error),
        }
    }
}

/// Errors of a run.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Balancer(#[from] BalancerError),
    #[error("{0} moves failed, none succeeded")]
    NoneMoved(usize),
    #[error("task ended without a result")]
    Task(#[from] tokio::task::JoinError),
}

async fn run(node: &Arc<Node>) -> Result<Progress, RunError> {
    // Leftovers are removed whether or not there are moves now.
    let (of, delay) = (Arc::clone(node), node.settings.disk_balancer.deletion_delay);
    let removed = tokio::task::spawn_blocking(move || of.store.remove_retired(delay)).await?;
    if let Err(error) = &removed {
        tracing::warn!(%error, "cannot remove source replicas of moved containers");
    }
    let balancer = &node.disk_balancer;
    if balancer.status() != Status::Running {
        return Ok(Progress::done(removed? as u64));
    }
    let of = Arc::clone(node);
    let (moves, even) =
        tokio::task::spawn_blocking(move || plan(&of.disk_balancer, &of.store)).await?;
    if moves.is_empty() {
        let done = even || balancer.failures() == 0;
        if done && balancer.parameters().stop_after_even {
            tracing::info!(even, "disk balancer stopped: no more moves");
            let of = Arc::clone(node);
            tokio::task::spawn_blocking(move || of.disk_balancer.stop()).await??;
        }
        return Ok(Progress::done(removed? as u64));
    }
    let all = moves.len();
    let carry_out = |planned| carry_out(balancer, &node.store, planned);
    let outcomes = join_all(moves.into_iter().map(carry_out)).await;
    node.collect_changes();
    let moved = outcomes.into_iter().filter(|moved| *moved).count();
    if moved == 0 && balancer.status() == Status::Running {
        return Err(RunError::NoneMoved(all));
    }
    Ok(Progress::more(moved as u64))
}
