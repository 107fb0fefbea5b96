//! Checks of the parts of containers, one container after the other.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use service::{BackgroundService, Progress};
use types::ContainerId;

use super::follow;
use super::pace::step_back;
use crate::clock::Clock;
use crate::node::Node;
use crate::service_names;
use containerstore::{ScanKind, Verdict};

/// Containers per run, so that a run stays short.
const PORTION: usize = 100;

/// Longest pause per container while others wait for the disk.
const MAX_STEP_BACK: Duration = Duration::from_millis(100);

/// Shortest interval, however short the configured one.
const MIN_INTERVAL: Duration = Duration::from_millis(200);

/// Ozone's `BackgroundContainerMetadataScanner`.
pub(super) struct MetadataScanner {
    node: Weak<Node>,
    clock: Arc<dyn Clock>,
    interval: Duration,
    /// Containers that remain in the present round, the next one last.
    left: Mutex<Vec<ContainerId>>,
}

impl MetadataScanner {
    pub fn new(node: &Arc<Node>, clock: Arc<dyn Clock>) -> Self {
        Self {
            node: Arc::downgrade(node),
            clock,
            interval: node.settings.scans.metadata_interval.max(MIN_INTERVAL),
            left: Mutex::default(),
        }
    }

    /// The next containers, and whether there are more in this round.
    fn take(&self, node: &Node) -> (Vec<ContainerId>, bool) {
        let mut left = self.left.lock();
        if left.is_empty() {
            *left = node.store.containers();
            left.reverse();
        }
        let keep = left.len().saturating_sub(PORTION);
        let mut portion = left.split_off(keep);
        portion.reverse();
        (portion, !left.is_empty())
    }
}

#[async_trait]
impl BackgroundService for MetadataScanner {
    fn name(&self) -> &str {
        service_names::METADATA_SCANNER
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn run_once(&self) -> Progress {
        let Some(node) = self.node.upgrade() else { return Progress::idle() };
        let (portion, more) = self.take(&node);
        let (mut items, mut skipped) = (0, 0);
        for id in portion {
            let now = self.clock.now();
            let Ok(container) = node.store.container(id) else { continue };
            // A full scan of this run included this check if it was this recent.
            let seen = !container.is_unseen();
            let lately = seen && node.store.was_scanned_lately(id, now);
            if lately || container.disk().failure().is_some() {
                continue;
            }
            step_back(container.disk(), &*self.clock, MAX_STEP_BACK).await;
            let outcome = node.store.scan_metadata(id, now).await;
            match follow(&node, id, ScanKind::Metadata, outcome) {
                Ok(Verdict::Sound | Verdict::Damaged(_)) => items += 1,
                Ok(Verdict::Moot | Verdict::DiskGone(_)) => {}
                // The containers after it are checked all the same.
                Err(_) => skipped += 1,
            }
        }
        let progress = if more { Progress::more(items) } else { Progress::done(items) };
        progress.and_skipped(skipped)
    }
}
