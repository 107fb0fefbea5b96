//! Waiting for conditions.

use std::future::Future;
use std::time::{Duration, Instant};

/// Waits until `condition` holds; fails the test when it never does.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(30), "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// As [`until`], with a condition that must be awaited.
pub async fn until_async<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) {
    let started = Instant::now();
    while !condition().await {
        assert!(started.elapsed() < Duration::from_secs(30), "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
