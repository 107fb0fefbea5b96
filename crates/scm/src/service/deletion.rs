//! Sends the deletion log: every replica gets its command in the same round.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use service::{BackgroundService, Progress};

use crate::core::Core;
use crate::service_names as names;

pub struct BlockDeletingService(pub Arc<Core>);

#[async_trait]
impl BackgroundService for BlockDeletingService {
    fn name(&self) -> &str {
        names::BLOCK_DELETION
    }

    fn interval(&self) -> Duration {
        self.0.options.deletion_interval
    }

    async fn run_once(&self) -> Progress {
        let core = &self.0;
        let (round, decision) = {
            let mut cluster = core.cluster();
            if core.check_leader().is_err() || cluster.safe_mode.is_on() {
                return Progress::idle();
            }
            if let Some(newest) = cluster.deletions.newest() {
                core.deletion_ages.note(newest);
            }
            cluster.send_deletions(core.clock.now())
        };
        core.metrics.deletions_sent.inc_by(round.blocks as u64);
        core.carry_out(decision);
        match round.transactions as u64 {
            0 => Progress::idle(),
            n if round.more => Progress::more(n),
            n => Progress::done(n),
        }
    }
}
