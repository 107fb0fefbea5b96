//! Work that goes on by itself: deletion, cleanup, scanning, reporting.

mod answer;
mod run;
mod services;

use std::time::Duration;

use async_trait::async_trait;

pub use answer::right;
pub use services::{BackgroundServices, ServiceStatus};

/// One kind of background work, run again and again.
#[async_trait]
pub trait BackgroundService: Send + Sync + 'static {
    /// Its name in lists, metrics and logs, such as `KeyDeletingService`.
    fn name(&self) -> &str;
    /// How long to wait between two runs.
    fn interval(&self) -> Duration;
    /// Does one bounded piece of the work. Runs of one service never overlap.
    async fn run_once(&self) -> Progress;
    /// Whether it gets on more slowly at present than it could, for clients.
    fn makes_way(&self) -> bool {
        false
    }
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Things done, whatever the service counts.
    pub items: u64,
    /// There is more to do at once, without waiting for the interval.
    pub more: bool,
    /// Things that the run could not make sense of and left where they are, such as rows that do
    /// not decode.
    pub skipped: u64,
    /// Why the run failed; it is tried again after the interval.
    pub failure: Option<String>,
}

impl Progress {
    /// Nothing to do.
    pub fn idle() -> Self {
        Progress { items: 0, more: false, skipped: 0, failure: None }
    }

    /// Did this many things; that was all.
    pub fn done(items: u64) -> Self {
        Progress { items, more: false, skipped: 0, failure: None }
    }

    /// Did this many things, and there is more to do at once.
    pub fn more(items: u64) -> Self {
        Progress { items, more: true, skipped: 0, failure: None }
    }

    /// Could not be done.
    pub fn failed(error: impl ToString) -> Self {
        Progress { items: 0, more: false, skipped: 0, failure: Some(error.to_string()) }
    }

    /// The same, with `skipped` things that were left where they are.
    pub fn and_skipped(self, skipped: u64) -> Self {
        Progress { skipped, ..self }
    }
}
