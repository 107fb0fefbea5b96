//! Reading all closed containers of a disk.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use parking_lot::Mutex;
use service::{BackgroundService, Progress};
use tokio::time::Instant;
use types::ContainerId;

use super::follow;
use super::pace::DiskPace;
use crate::clock::Clock;
use crate::node::Node;
use crate::service_names;
use containerstore::{Disk, ScanKind, Verdict};

/// Interval between checks for due containers.
const INTERVAL: Duration = Duration::from_secs(60);

/// Shortest interval, however short the configured time between two scans of a container.
const MIN_INTERVAL: Duration = Duration::from_millis(200);

/// Ozone's `BackgroundContainerDataScanner`, of one disk. It continues with the least recently read
/// container, also after a restart.
pub(super) struct DataScanner {
    node: Weak<Node>,
    disk: String,
    name: String,
    every: Duration,
    pace: DiskPace,
    clock: Arc<dyn Clock>,
    next: Mutex<Next>,
}

/// The next replicas: finding them reads all replicas of the node.
struct Next {
    /// Time of the search.
    at: Instant,
    /// The first one last.
    ids: Vec<ContainerId>,
}

/// Replicas per search.
const PORTION: usize = 1_000;

impl DataScanner {
    pub fn new(node: &Arc<Node>, disk: &Disk, index: usize, clock: Arc<dyn Clock>) -> Self {
        let settings = &node.settings.scans;
        let next = Mutex::new(Next { at: clock.instant(), ids: Vec::new() });
        Self {
            next,
            node: Arc::downgrade(node),
            disk: disk.id().to_owned(),
            name: service_names::data_scanner(index),
            every: settings.data_interval,
            pace: DiskPace::new(settings.data_rate, clock.clone()),
            clock,
        }
    }

    /// The replica that is to be read now.
    fn next(&self, node: &Node, disk: &Disk, now: SystemTime) -> Option<ContainerId> {
        let mut next = self.next.lock();
        // Some containers closed meanwhile may come before the others.
        if self.clock.instant().saturating_duration_since(next.at) >= INTERVAL {
            next.ids.clear();
        }
        while let Some(id) = next.ids.pop() {
            // It may have been read, moved or deleted since.
            if node.store.is_scan_due(id, disk, self.every, now) {
                return Some(id);
            }
        }
        let mut ids = node.store.next_scans(disk, self.every, now, PORTION);
        ids.reverse();
        *next = Next { at: self.clock.instant(), ids };
        next.ids.pop()
    }
}

#[async_trait]
impl BackgroundService for DataScanner {
    fn name(&self) -> &str {
        &self.name
    }

    fn interval(&self) -> Duration {
        self.every.clamp(MIN_INTERVAL, INTERVAL)
    }

    async fn run_once(&self) -> Progress {
        let Some(node) = self.node.upgrade() else { return Progress::idle() };
        let Some(disk) = node.store.disk(&self.disk) else { return Progress::idle() };
        let now = self.clock.now();
        let due = self.next(&node, &disk, now);
        let Some(id) = due.filter(|_| disk.failure().is_none()) else { return Progress::idle() };
        let outcome = node.store.scan_data(id, ScanKind::Data, &self.pace, now).await;
        match follow(&node, id, ScanKind::Data, outcome) {
            Ok(Verdict::Sound | Verdict::Damaged(_)) => Progress::more(1),
            Ok(Verdict::Moot | Verdict::DiskGone(_)) => Progress::idle(),
            Err(failed) => failed,
        }
    }
}
