//! Reading all closed containers of a disk.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use service::{BackgroundService, Progress};

use super::follow;
use super::pace::DiskPace;
use crate::clock::Clock;
use crate::node::Node;
use crate::service_names;
use crate::storage::{Disk, ScanKind, Verdict};

/// How often it looks whether a container is due.
const INTERVAL: Duration = Duration::from_secs(60);

/// At most so often, however short the time between two scans of a container.
const MIN_INTERVAL: Duration = Duration::from_millis(200);

/// Ozone's `BackgroundContainerDataScanner`, of one disk. It goes on with the container that was
/// read longest ago, also after a restart.
pub(super) struct DataScanner {
    node: Weak<Node>,
    disk: String,
    name: String,
    every: Duration,
    pace: DiskPace,
    clock: Arc<dyn Clock>,
}

impl DataScanner {
    pub fn new(node: &Arc<Node>, disk: &Disk, index: usize, clock: Arc<dyn Clock>) -> Self {
        let settings = &node.settings.scans;
        Self {
            node: Arc::downgrade(node),
            disk: disk.id().to_owned(),
            name: service_names::data_scanner(index),
            every: settings.data_interval,
            pace: DiskPace::new(settings.data_rate, clock.clone()),
            clock,
        }
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
        let due = node.store.next_scan(&disk, self.every, now);
        let Some(id) = due.filter(|_| disk.failure().is_none()) else { return Progress::idle() };
        let outcome = node.store.scan_data(id, ScanKind::Data, &self.pace, now).await;
        match follow(&node, id, ScanKind::Data, outcome) {
            Ok(Verdict::Sound | Verdict::Damaged(_)) => Progress::more(1),
            Ok(Verdict::Moot | Verdict::DiskGone(_)) => Progress::idle(),
            Err(failed) => failed,
        }
    }
}
