//! Detection of a closed database.

use std::sync::Weak;
use std::thread;
use std::time::{Duration, Instant};

/// Polling interval.
const POLL: Duration = Duration::from_millis(2);

/// Detects whether a [`Store`](crate::Store) has been closed, without keeping it open.
#[derive(Debug, Clone)]
pub struct Closing(Weak<()>);

impl Closing {
    pub(crate) fn new(open: Weak<()>) -> Self {
        Self(open)
    }

    /// Returns `true` once the last user of the store has dropped it and its directory can be
    /// opened again.
    pub fn is_closed(&self) -> bool {
        self.0.strong_count() == 0
    }

    /// Waits for that for at most `limit`; returns `false` on timeout. Blocks.
    pub fn wait(&self, limit: Duration) -> bool {
        let started = Instant::now();
        while !self.is_closed() {
            if started.elapsed() >= limit {
                return false;
            }
            thread::sleep(POLL);
        }
        true
    }
}
