//! Clock and sleep that tests control without waiting.

use std::time::SystemTime;

use async_trait::async_trait;
use chrono::{DateTime, Local, Timelike};
use tokio::time::Instant;

/// A clock.
#[async_trait]
pub(crate) trait Clock: Send + Sync + 'static {
    /// The time of the calendar.
    fn now(&self) -> SystemTime;
    /// The hour of the day where the DataNode is, 0 to 23.
    fn hour(&self) -> u32;
    /// Monotonic time.
    fn instant(&self) -> Instant;
    /// Waits until then.
    async fn sleep_until(&self, at: Instant);
}

/// The machine's clocks and time zone.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn hour(&self) -> u32 {
        DateTime::<Local>::from(self.now()).hour()
    }

    fn instant(&self) -> Instant {
        Instant::now()
    }

    async fn sleep_until(&self, at: Instant) {
        tokio::time::sleep_until(at).await;
    }
}
