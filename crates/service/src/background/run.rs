//! The loop of one background service.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

use futures::FutureExt;
use tracing::{debug, warn};

use super::services::{Control, Metrics};
use super::{BackgroundService, Progress};
use crate::metrics::{Counter, Histogram};
use crate::shutdown::Shutdown;

/// The metrics of one service.
pub(super) struct ServiceMetrics {
    runs: Counter,
    failures: Counter,
    items: Counter,
    skipped: Counter,
    time: Histogram,
}

impl ServiceMetrics {
    pub(super) fn of(metrics: &Metrics, name: &str) -> Self {
        ServiceMetrics {
            runs: metrics.runs.with(name),
            failures: metrics.failures.with(name),
            items: metrics.items.with(name),
            skipped: metrics.skipped.with(name),
            time: metrics.time.with(name),
        }
    }
}

/// Runs a service until shutdown: after each interval, or at once if it is woken or has more work.
pub(super) async fn forever(
    service: Arc<dyn BackgroundService>,
    control: Arc<Control>,
    metrics: ServiceMetrics,
    shutdown: Shutdown,
) {
    let mut more = false;
    loop {
        if more {
            tokio::task::yield_now().await;
        } else {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = control.wake.notified() => {}
                () = tokio::time::sleep(service.interval()) => {}
            }
        }
        if shutdown.is_triggered() {
            return;
        }
        let asked = control.asked.swap(false, Ordering::SeqCst);
        let is_paused = || control.paused.load(Ordering::SeqCst);
        if is_paused() && !asked {
            control.missed.store(true, Ordering::SeqCst);
            // It was resumed in the meantime, which happened before the run counted as missed.
            if is_paused() {
                more = false;
                continue;
            }
        }
        control.missed.store(false, Ordering::SeqCst);
        // A shutdown cancels a run at its next await: services persist their state in their store.
        match shutdown.until(once(service.as_ref(), &control, &metrics)).await {
            Some(progress) => more = progress.more && progress.failure.is_none(),
            None => return,
        }
    }
}

async fn once(
    service: &dyn BackgroundService,
    control: &Control,
    metrics: &ServiceMetrics,
) -> Progress {
    {
        let mut history = control.history.lock();
        history.running = true;
        history.last_run = Some(SystemTime::now());
    }
    let started = Instant::now();
    // A panic counts as a failed run; the service continues.
    let progress = AssertUnwindSafe(telemetry::root(service.name(), service.run_once()))
        .catch_unwind()
        .await
        .unwrap_or_else(|_| Progress::failed("the run panicked (a bug)"));
    metrics.time.record(started.elapsed());
    metrics.runs.inc();
    metrics.items.inc_by(progress.items);
    metrics.skipped.inc_by(progress.skipped);
    if progress.skipped > 0 {
        let skipped = progress.skipped;
        warn!(service = service.name(), skipped, "background run skipped invalid items");
    }
    if let Some(failure) = &progress.failure {
        metrics.failures.inc();
        warn!(service = service.name(), %failure, "background run failed, will retry");
    } else if progress.items > 0 {
        debug!(service = service.name(), items = progress.items, elapsed = ?started.elapsed(), "background run done");
    }
    let mut history = control.history.lock();
    history.running = false;
    history.runs += 1;
    history.items += progress.items;
    history.skipped = progress.skipped;
    history.last_failure = progress.failure.clone();
    drop(history);
    progress
}
