//! Stage three of a deletion: the space of deleted blocks is given back, in the background.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use scheduling::on_background_thread;
use service::{BackgroundService, Bounds, Pace, Progress};

use crate::clock::{Clock, SystemClock};
use crate::node::Node;
use crate::service_names;

/// A block that was not written to for this long is no longer tracked; see
/// [`Tracker::forget_idle`](containerstore::tracker::Tracker::forget_idle).
const BLOCK_IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// Limits of a batch of blocks of each disk.
const PORTION: Bounds = Bounds {
    least: 10,
    first: 500,
    most: 10_000,
    // Writes of clients wait for the rows of one container that go, and reads for the processor.
    short: Duration::from_millis(1),
    long: Duration::from_millis(500),
};

/// Ozone's `BlockDeletingService`: as fast as the disks can while the DataNode is otherwise idle.
pub(crate) struct Reclaim {
    node: Weak<Node>,
    interval: Duration,
    pace: Pace,
    clock: Arc<dyn Clock>,
}

impl Reclaim {
    pub fn new(node: &Arc<Node>) -> Self {
        Self {
            node: Arc::downgrade(node),
            interval: node.settings.deleting_interval,
            pace: Pace::new(node.settings.deletion_share, PORTION),
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
        drop(node.arrivals.forget_old());
        let (store, share) = (node.store.clone(), self.pace.share());
        let begun = Instant::now();
        let turn = self.pace.next(node.pace.clients.is_used(begun), self.clock.hour());
        let reclaim = move || match turn.makes_way {
            true => store.reclaim_beside_clients(turn.items, share),
            false => store.reclaim(turn.items),
        };
        match on_background_thread(reclaim).await {
            Ok(Ok(reclaimed)) if reclaimed.more => {
                let now = Instant::now();
                let is_used = node.pace.clients.is_used(now);
                let hour = self.clock.hour();
                let took = (now - begun).saturating_sub(reclaimed.with_rests);
                let pause = self.pace.note(turn, reclaimed.portion, took, is_used, hour);
                tokio::time::sleep(pause).await;
                Progress::more(reclaimed.blocks)
            }
            Ok(Ok(reclaimed)) => {
                self.pace.rest();
                Progress::done(reclaimed.blocks)
            }
            Ok(Err(error)) => Progress::failed(error),
            Err(error) => Progress::failed(error),
        }
    }

    fn makes_way(&self) -> bool {
        self.pace.makes_way()
    }
}
