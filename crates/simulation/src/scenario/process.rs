//! Code shared by the processes of a scenario.

use std::fmt::Display;
use std::time::Duration;

use crate::world::node::exit;
use crate::world::{real, world};

/// Minimum delay before a server that ended by itself is restarted.
const RESTART_DELAY: Duration = Duration::from_secs(1);
/// Threads of a runtime.
const WORKERS: usize = 2;
/// Threads of a runtime that may block.
const BLOCKING: usize = 16;

/// Runs something on a runtime of its own.
pub fn on_runtime<R>(work: impl Future<Output = R>) -> Option<R> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(WORKERS).max_blocking_threads(BLOCKING).enable_all();
    Some(runtime.build().ok()?.block_on(work))
}

/// A process that ends reports the reason; the nemesis restarts it.
pub fn ended(who: &str, number: usize, why: impl Display) {
    real::say(&format!("{who} {number} ended at {} ms: {why}\n", world().now / 1_000_000));
    exit();
}

/// A server that ended by itself is restarted immediately after the faults.
pub async fn after_delay(why: impl Display) -> String {
    tokio::time::sleep(RESTART_DELAY).await;
    why.to_string()
}
