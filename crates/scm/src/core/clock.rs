//! Milliseconds since 1970 that never run backwards.
//!
//! The ages of heartbeats decide over life and death of nodes: a clock that is set must not make
//! all of them stale.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use placement::Millis;

/// Wall time at the start, plus the time that has really passed since.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    base: Millis,
    started: Instant,
}

impl Clock {
    /// A clock that begins now.
    pub fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { base: since.as_millis() as u64, started: Instant::now() }
    }

    /// Milliseconds since 1970.
    pub fn now(&self) -> Millis {
        self.base + self.started.elapsed().as_millis() as u64
    }

    /// Milliseconds since the clock was made.
    pub fn uptime(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}
