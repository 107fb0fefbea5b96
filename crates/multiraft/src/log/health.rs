//! Health of a log's writes.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;

/// The reason why a log cannot be written at present; outlives the log itself.
#[derive(Debug, Default)]
pub(crate) struct LogHealth {
    reason: Mutex<Option<String>>,
    /// True if there is a reason; readable without the lock.
    any: AtomicBool,
    /// The reason for a permanent failure.
    pub(super) failed: watch::Sender<Option<String>>,
}

impl LogHealth {
    pub(crate) fn failure(&self) -> Option<String> {
        self.failed.borrow().clone()
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        self.reason.lock().clone()
    }

    /// Records a permanent failure; returns `true` if it is the first.
    pub(super) fn fail(&self, reason: &str) -> bool {
        let first = self.failed.send_if_modified(|failed| {
            let first = failed.is_none();
            failed.get_or_insert_with(|| reason.to_owned());
            first
        });
        if first {
            self.set(Some(reason.to_owned()));
        }
        first
    }

    pub(super) fn set(&self, reason: Option<String>) {
        // A permanent failure stays, even if a write in flight succeeds.
        let reason = reason.or_else(|| self.failure());
        self.any.store(reason.is_some(), Ordering::Relaxed);
        *self.reason.lock() = reason;
    }
}
