//! Whether a database has been closed.

use std::sync::Weak;
use std::thread;
use std::time::{Duration, Instant};

/// The time between two looks.
const POLL: Duration = Duration::from_millis(2);

/// Says of a [`Store`](crate::Store) whether it has been closed, without keeping it open.
#[derive(Debug, Clone)]
pub struct Closing(Weak<()>);

impl Closing {
    pub(crate) fn new(open: Weak<()>) -> Self {
        Self(open)
    }

    /// Whether the last user of the store is gone and its directory can be opened again.
    pub fn is_closed(&self) -> bool {
        self.0.strong_count() == 0
    }

    /// Waits for that for at most `limit`, and says whether it came. Blocks.
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
