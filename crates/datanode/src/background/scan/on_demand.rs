//! Reading replicas about which something is suspicious: a device did not give their bytes, or a
//! client got bytes that do not have their checksums.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use service::{BackgroundService, Progress};

use super::follow;
use super::pace::DiskPace;
use crate::clock::Clock;
use crate::node::Node;
use crate::service_names;
use containerstore::ScanKind;

/// Interval between checks without being woken.
const INTERVAL: Duration = Duration::from_secs(60);

/// Ozone's `OnDemandContainerDataScanner`. It reads one replica at a time, whichever disk it is on.
pub(super) struct OnDemandScanner {
    node: Weak<Node>,
    pace: DiskPace,
    clock: Arc<dyn Clock>,
}

impl OnDemandScanner {
    pub fn new(node: &Arc<Node>, clock: Arc<dyn Clock>) -> Self {
        let rate = node.settings.scans.on_demand_rate;
        Self { node: Arc::downgrade(node), pace: DiskPace::new(rate, clock.clone()), clock }
    }
}

#[async_trait]
impl BackgroundService for OnDemandScanner {
    fn name(&self) -> &str {
        service_names::ON_DEMAND_SCANNER
    }

    fn interval(&self) -> Duration {
        INTERVAL
    }

    async fn run_once(&self) -> Progress {
        let Some(node) = self.node.upgrade() else { return Progress::idle() };
        let Some(id) = node.store.take_suspect() else { return Progress::idle() };
        let now = self.clock.now();
        if node.store.was_scanned_lately(id, now) {
            tracing::info!(container = %id, "suspicious replica was scanned recently, skipping");
            return Progress::more(0);
        }
        let outcome = node.store.scan_data(id, ScanKind::OnDemand, &self.pace, now).await;
        if let Ok(verdict) = follow(&node, id, ScanKind::OnDemand, outcome) {
            tracing::info!(container = %id, ?verdict, "suspicious replica scanned");
        }
        Progress::more(1)
    }
}
