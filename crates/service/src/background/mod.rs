//! Periodic background work: deletion, cleanup, scanning, reporting.

mod answer;
mod run;
mod services;

use std::time::Duration;

use async_trait::async_trait;

pub use answer::right;
pub use services::{BackgroundServices, ServiceStatus};

/// A kind of background work that runs repeatedly.
#[async_trait]
pub trait BackgroundService: Send + Sync + 'static {
    /// The name in lists, metrics and logs, such as `KeyDeletingService`.
    fn name(&self) -> &str;
    /// Interval between two runs.
    fn interval(&self) -> Duration;
    /// Performs one bounded batch of the work. Runs of one service never overlap.
    async fn run_once(&self) -> Progress;
    /// Returns `true` while it is throttled in favour of clients.
    fn makes_way(&self) -> bool {
        false
    }
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Number of processed items, in the service's own unit.
    pub items: u64,
    /// There is more work: run again at once, without the interval.
    pub more: bool,
    /// Number of items skipped because they are invalid, such as rows that do not decode.
    pub skipped: u64,
    /// The reason of a failed run, which is retried after the interval.
    pub failure: Option<String>,
}

impl Progress {
    /// No work.
    pub fn idle() -> Self {
        Progress { items: 0, more: false, skipped: 0, failure: None }
    }

    /// Processed `items`, which was all.
    pub fn done(items: u64) -> Self {
        Progress { items, more: false, skipped: 0, failure: None }
    }

    /// Processed `items`, with more to do at once.
    pub fn more(items: u64) -> Self {
        Progress { items, more: true, skipped: 0, failure: None }
    }

    /// Failed.
    pub fn failed(error: impl ToString) -> Self {
        Progress { items: 0, more: false, skipped: 0, failure: Some(error.to_string()) }
    }

    /// The same, with `skipped` invalid items.
    pub fn and_skipped(self, skipped: u64) -> Self {
        Progress { skipped, ..self }
    }
}
