//! Searches for ranges at intervals and compacts them, one after the other. If disabled, it
//! compacts only ranges that administrators request.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scheduling::on_background_thread;
use service::{BackgroundService, Progress};

use crate::dispatch::Dispatcher;
use crate::state::Tables;
use crate::state::compaction::OmCompactor;

/// Name in lists and metrics.
const NAME: &str = "RangeCompactionService";
/// Interval of checks for lists that met tombstones.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The longest rest after a range while clients wait for answers.
const MAX_REST: Duration = Duration::from_secs(20);

/// Compacts ranges worth it. Works on every OM.
pub(crate) struct RangeCompactionService {
    dispatcher: Arc<Dispatcher>,
    compactor: Arc<OmCompactor>,
    looked: Mutex<Option<Instant>>,
}

impl RangeCompactionService {
    pub(crate) fn new(dispatcher: Arc<Dispatcher>, compactor: Arc<OmCompactor>) -> Arc<Self> {
        Arc::new(Self { dispatcher, compactor, looked: Mutex::new(None) })
    }

    /// Returns `true` if all tables are due for a check.
    fn is_due(&self) -> bool {
        let options = &self.compactor.options;
        let asked = self.compactor.asked.swap(false, Ordering::Relaxed);
        let mut looked = self.looked.lock();
        let due = options.enabled && looked.is_none_or(|at| at.elapsed() >= options.interval);
        if asked || due {
            *looked = Some(Instant::now());
        }
        asked || due
    }

    /// Runs work that blocks on the disk.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&OmCompactor, &Tables) -> T + Send + 'static,
    ) -> Option<T> {
        let tables = self.dispatcher.tables().ok()?;
        let compactor = Arc::clone(&self.compactor);
        on_background_thread(move || work(&compactor, &tables)).await.ok()
    }

    /// Leaves the disk and the processor to clients for as long as a range took, while there are
    /// any that wait for answers.
    async fn rest(&self, took: Duration) {
        if self.dispatcher.parts().admission.busy() > 0 {
            tokio::time::sleep(took.min(MAX_REST)).await;
        }
    }
}

#[async_trait::async_trait]
impl BackgroundService for RangeCompactionService {
    fn name(&self) -> &str {
        NAME
    }

    fn interval(&self) -> Duration {
        POLL_INTERVAL.min(self.compactor.options.interval)
    }

    async fn run_once(&self) -> Progress {
        let due = self.is_due();
        let looked = self.blocking(move |compactor, tables| {
            if compactor.options.enabled {
                compactor.look_at_walls(tables)?;
            }
            if due { compactor.look(tables) } else { Ok(0) }
        });
        match looked.await {
            // The tables are being replaced.
            None => return Progress::idle(),
            Some(Err(error)) => return Progress::failed(error),
            Some(Ok(_)) => {}
        }
        let began = Instant::now();
        let done = self.blocking(|compactor, tables| compactor.compact_next(tables)).await;
        let Some(done) = done.flatten() else { return Progress::idle() };
        match done.outcome {
            Err(error) => Progress::failed(error),
            Ok(_) => {
                self.rest(began.elapsed()).await;
                match self.compactor.ranges.waiting() {
                    0 => Progress::done(1),
                    _ => Progress::more(1),
                }
            }
        }
    }
}
