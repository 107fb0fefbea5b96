//! Stage three of a deletion: the space of deleted blocks is given back, in the background.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use service::{BackgroundService, Progress};

use crate::clock::{Clock, SystemClock};
use crate::deletion_pace::DeletionPace;
use crate::node::Node;
use crate::service_names;

/// A block that was not written to for this long is no longer tracked; see
/// [`Tracker::forget_idle`](crate::storage::tracker::Tracker::forget_idle).
const BLOCK_IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// Ozone's `BlockDeletingService`.
pub(crate) struct Reclaim {
    node: Weak<Node>,
    interval: Duration,
    pace: DeletionPace,
    clock: Arc<dyn Clock>,
}

impl Reclaim {
    pub fn new(node: &Arc<Node>) -> Self {
        Self {
            node: Arc::downgrade(node),
            interval: node.settings.deleting_interval,
            pace: DeletionPace::new(node.settings.deletion_share),
            clock: Arc::new(SystemClock),
        }
    }
}

#[async_trait]
impl BackgroundService for Reclaim {
    fn name(&self) -> &str {
        service_names::BLOCK_DELETING
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn run_once(&self) -> Progress {
        let Some(node) = self.node.upgrade() else { return Progress::idle() };
        if let Some(before) = Instant::now().checked_sub(BLOCK_IDLE_TIMEOUT) {
            node.pipelines.forget_idle(before);
            node.store.forget_idle(before);
        }
        node.arrivals.forget_old();
        let (store, portion) = (node.store.clone(), self.pace.portion());
        let begun = Instant::now();
        match tokio::task::spawn_blocking(move || store.reclaim(portion)).await {
            Ok(Ok(reclaimed)) if reclaimed.more => {
                let now = Instant::now();
                let is_used = node.pace.clients.is_used(now);
                let pause = self.pace.note(now - begun, is_used, self.clock.hour());
                tokio::time::sleep(pause).await;
                Progress::more(reclaimed.blocks)
            }
            Ok(Ok(reclaimed)) => Progress::done(reclaimed.blocks),
            Ok(Err(error)) => Progress::failed(error),
            Err(error) => Progress::failed(error),
        }
    }
}
