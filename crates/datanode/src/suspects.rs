//! Replicas about which something is suspicious are read whole: a device did not give their bytes,
//! or a client got bytes that do not have their checksums.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use service::{BackgroundService, Progress};

use crate::node::Node;
use crate::service_names;
use crate::storage::Verdict;

/// How often it looks without being woken.
const INTERVAL: Duration = Duration::from_secs(60);

/// Ozone's `OnDemandContainerDataScanner`.
pub(crate) struct Suspects {
    node: Weak<Node>,
}

impl Suspects {
    pub fn new(node: &Arc<Node>) -> Self {
        Self { node: Arc::downgrade(node) }
    }
}

#[async_trait]
impl BackgroundService for Suspects {
    fn name(&self) -> &str {
        service_names::ON_DEMAND_SCANNER
    }

    fn interval(&self) -> Duration {
        INTERVAL
    }

    async fn run_once(&self) -> Progress {
        let Some(node) = self.node.upgrade() else { return Progress::idle() };
        let Some(id) = node.store.take_suspect() else { return Progress::idle() };
        match node.store.scan(id).await {
            Ok(verdict) => {
                tracing::info!(container = %id, ?verdict, "a suspicious replica was read");
                if matches!(verdict, Verdict::Damaged(_)) {
                    node.pending_reports.container_changed(id);
                }
            }
            Err(error) => tracing::error!(container = %id, %error, "a replica was not read"),
        }
        Progress::more(1)
    }
}
