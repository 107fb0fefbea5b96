//! Detects requests that wait for the processor.
//!
//! A read is answered where it is received, on the task of its connection. When more connections
//! have something to do than there are processors, requests wait in the runtime's own queue, which
//! has no order by user. A task that yields to the end of that queue and measures the time until it
//! runs again shows the delay.

use std::sync::Arc;
use std::time::{Duration, Instant};

use service::Shutdown;

use crate::dispatch::Dispatcher;

/// Interval of measurements.
const INTERVAL: Duration = Duration::from_millis(20);
/// A queue that takes longer holds up requests that take less.
const LONG: Duration = Duration::from_micros(300);
/// Measurements below that for the processor not to be short any more.
const CALM: u32 = 10;

/// Passes the measurements to the admission of requests, until the shutdown.
pub(crate) fn watch(dispatcher: &Arc<Dispatcher>, shutdown: &Shutdown) {
    let (dispatcher, stop) = (Arc::downgrade(dispatcher), shutdown.clone());
    tokio::spawn(async move {
        let watched = async {
            let mut calm = CALM;
            loop {
                tokio::time::sleep(INTERVAL).await;
                let began = Instant::now();
                tokio::task::yield_now().await;
                calm = if began.elapsed() > LONG { 0 } else { calm.saturating_add(1) };
                let Some(dispatcher) = dispatcher.upgrade() else { return };
                dispatcher.parts().admission.set_busy(calm < CALM);
            }
        };
        stop.until(watched).await;
    });
}
