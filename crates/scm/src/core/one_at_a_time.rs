//! Work that is done by one task at a time: the next one finds what the last one has made.

use tokio::sync::{Mutex, MutexGuard};

/// Admits one task.
#[derive(Default)]
pub(crate) struct OneAtATime {
    work: Mutex<()>,
}

impl OneAtATime {
    /// Waits until no other task is at work. The work ends when the guard is dropped.
    pub(crate) async fn begin(&self) -> MutexGuard<'_, ()> {
        self.work.lock().await
    }

    /// Returns `true` if no task runs.
    pub(crate) fn is_idle(&self) -> bool {
        self.work.try_lock().is_ok()
    }
}
