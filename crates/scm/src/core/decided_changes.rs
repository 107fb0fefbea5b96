//! Changes that were decided on reports and wait to be proposed, many in one log entry.

use placement::Change;
use tokio::sync::mpsc;

/// Changes that wait at most; beyond it they are dropped, and decided again at the next review.
const MAX_PENDING: usize = 100_000;

/// Changes in one log entry at most.
const MAX_PER_ENTRY: usize = 2_000;

/// The end of the queue to which decided changes are added.
pub(super) struct DecidedChanges {
    queue: mpsc::Sender<Change>,
}

/// The other end of the queue.
pub(super) struct PendingChanges {
    queue: mpsc::Receiver<Change>,
}

impl DecidedChanges {
    /// A queue without changes.
    pub(super) fn new() -> (Self, PendingChanges) {
        let (added, taken) = mpsc::channel(MAX_PENDING);
        (Self { queue: added }, PendingChanges { queue: taken })
    }

    /// Adds a change, unless the queue is full.
    pub(super) fn push(&self, change: Change) {
        if let Err(e) = self.queue.try_send(change) {
            tracing::warn!(error = %e, "too many pending changes; deferring one to the next review");
        }
    }
}

impl PendingChanges {
    /// Waits for changes and takes all queued ones at once; `None` when no more can be queued.
    pub(super) async fn next(&mut self) -> Option<Vec<Change>> {
        let mut batch = Vec::new();
        (self.queue.recv_many(&mut batch, MAX_PER_ENTRY).await > 0).then_some(batch)
    }
}
