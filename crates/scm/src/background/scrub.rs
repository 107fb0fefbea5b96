//! Deletes pipelines that are closed or failed to open.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use service::{BackgroundService, Progress};

use crate::core::Core;
use crate::service_names as names;

pub struct PipelineScrubber(pub Arc<Core>);

#[async_trait]
impl BackgroundService for PipelineScrubber {
    fn name(&self) -> &str {
        names::PIPELINE_SCRUBBER
    }

    fn interval(&self) -> Duration {
        self.0.options.scrub_interval
    }

    async fn run_once(&self) -> Progress {
        let core = &self.0;
        if core.check_leader().is_err() {
            return Progress::idle();
        }
        let decision = core.cluster().scrub_pipelines(core.clock.now());
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
