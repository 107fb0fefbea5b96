//! Working the checksums of closed replicas out, for SCM to compare.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use scheduling::on_background_thread;
use service::{BackgroundService, Progress};

use crate::node::Node;
use crate::service_names;

/// Interval between checks for due checksums.
const INTERVAL: Duration = Duration::from_secs(1);

/// Replicas per run, so that a run stays short.
const PORTION: u64 = 20;

/// Reads the rows of replicas that were closed, copied or repaired.
pub(crate) struct ContainerChecksums {
    node: Weak<Node>,
}

impl ContainerChecksums {
    pub fn new(node: &Arc<Node>) -> Self {
        Self { node: Arc::downgrade(node) }
    }
}

#[async_trait]
impl BackgroundService for ContainerChecksums {
    fn name(&self) -> &str {
        service_names::CONTAINER_CHECKSUMS
    }

    fn interval(&self) -> Duration {
        INTERVAL
    }

    async fn run_once(&self) -> Progress {
        let Some(node) = self.node.upgrade() else { return Progress::idle() };
        let (mut known, mut skipped) = (0, 0);
        while known + skipped < PORTION {
            let store = node.store.clone();
            match on_background_thread(move || store.compute_next_checksum()).await {
                Ok(None) => return Progress::done(known).and_skipped(skipped),
                Ok(Some((_, Ok(true)))) => known += 1,
                // It changes just now, and is due again.
                Ok(Some((_, Ok(false)))) => return Progress::done(known).and_skipped(skipped),
                Ok(Some((id, Err(error)))) => {
                    tracing::warn!(container = %id, %error, "cannot compute checksum of a replica");
                    skipped += 1;
                }
                Err(error) => return Progress::failed(error),
            }
        }
        // Other replicas wait for the next run: after an upgrade all closed ones are due at once.
        Progress::done(known).and_skipped(skipped)
    }
}
