//! The shutdown signal.

use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

/// Triggered once, visible to all clones and children.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    token: CancellationToken,
}

impl Shutdown {
    /// Not yet triggered.
    pub fn new() -> Self {
        Shutdown::default()
    }

    /// Triggers the shutdown. May be called again.
    pub fn trigger(&self) {
        self.token.cancel();
    }

    /// Returns `true` if it was triggered.
    pub fn is_triggered(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Waits until it is triggered.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        self.token.cancelled()
    }

    /// A child that is triggered with this one, or alone.
    pub fn child(&self) -> Shutdown {
        Shutdown { token: self.token.child_token() }
    }

    /// Runs `work` until it ends, or returns `None` if the shutdown is triggered first.
    pub async fn until<F: Future>(&self, work: F) -> Option<F::Output> {
        self.token.run_until_cancelled(work).await
    }
}
