//! Steps through tombstones that are new, so that lists need not: at ten thousand deletions a
//! second a list meets no more than a thousand.

use std::sync::Arc;
use std::time::Duration;

use scheduling::on_background_thread;
use service::{BackgroundService, Progress};

use crate::dispatch::Dispatcher;

/// Name in lists and metrics.
const NAME: &str = "TombstoneService";
/// Interval of checks.
const INTERVAL: Duration = Duration::from_millis(100);

/// Finds tombstones that lists can skip. Works on every OM, since any may answer reads.
pub(crate) struct TombstoneService {
    dispatcher: Arc<Dispatcher>,
}

impl TombstoneService {
    pub(crate) fn new(dispatcher: Arc<Dispatcher>) -> Arc<Self> {
        Arc::new(Self { dispatcher })
    }
}

#[async_trait::async_trait]
impl BackgroundService for TombstoneService {
    fn name(&self) -> &str {
        NAME
    }

    fn interval(&self) -> Duration {
        INTERVAL
    }

    async fn run_once(&self) -> Progress {
        let Ok(tables) = self.dispatcher.tables() else { return Progress::idle() };
        if !tables.store().has_new_tombstones() {
            return Progress::idle();
        }
        match on_background_thread(move || tables.store().look_for_gaps()).await {
            Ok(Ok(looked)) => Progress::done(looked as u64),
            Ok(Err(error)) => Progress::failed(error),
            Err(error) => Progress::failed(error),
        }
    }
}
