//! Brings containers on their way to an end: repeats orders to close, deletes containers that are empty.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use service::{BackgroundService, Progress};

use super::names;
use crate::core::Core;

pub struct ReplicationManager(pub Arc<Core>);

#[async_trait]
impl BackgroundService for ReplicationManager {
    fn name(&self) -> &str {
        names::REPLICATION_MANAGER
    }

    fn interval(&self) -> Duration {
        self.0.options.review_interval
    }

    async fn run_once(&self) -> Progress {
        let core = &self.0;
        let decision = {
            let mut cluster = core.cluster();
            if core.check_leader().is_err() || cluster.safe_mode.is_on() {
                return Progress::idle();
            }
            let now = core.clock.now();
            let mut decision = cluster.review_containers(now);
            decision.merge(cluster.clean_containers(now));
            decision
        };
        core.commands.push(decision.orders);
        if decision.changes.is_empty() {
            return Progress::idle();
        }
        let count = decision.changes.len() as u64;
        match core.propose(decision.changes).await {
            Ok(_) => Progress::done(count),
            Err(error) => Progress::failed(error),
        }
    }
}
