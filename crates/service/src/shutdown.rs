//! The one signal to stop.

use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

/// Triggered once, seen by all clones and children.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    token: CancellationToken,
}

impl Shutdown {
    /// Not yet triggered.
    pub fn new() -> Self {
        Shutdown::default()
    }

    /// Tells everything to stop. May be called again.
    pub fn trigger(&self) {
        self.token.cancel();
    }

    /// Whether it was triggered.
    pub fn is_triggered(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Waits until it is triggered.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        self.token.cancelled()
    }

    /// One that is triggered with this one, or alone.
    pub fn child(&self) -> Shutdown {
        Shutdown { token: self.token.child_token() }
    }

    /// Runs `work` until it ends or the shutdown is triggered; `None` then.
    pub async fn until<F: Future>(&self, work: F) -> Option<F::Output> {
        self.token.run_until_cancelled(work).await
    }
}
