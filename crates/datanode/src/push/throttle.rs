//! Bytes per second.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// What may be sent ahead of time after a pause.
const BURST: Duration = Duration::from_millis(250);

/// Lets so many bytes pass per second, over all that ask.
#[derive(Debug)]
pub struct Throttle {
    /// Bytes per second; 0 is no limit.
    rate: u64,
    /// When all that has passed would have passed evenly.
    paid: Mutex<Option<Instant>>,
}

impl Throttle {
    pub fn new(rate: u64) -> Self {
        Self { rate, paid: Mutex::default() }
    }

    /// Waits until `bytes` more may pass.
    pub async fn pass(&self, bytes: u64) {
        if self.rate > 0 {
            tokio::time::sleep_until(self.next(bytes, self.rate, Instant::now())).await;
        }
    }

    /// When `bytes` more may pass that ask for it `now`, at a rate that may be another one each
    /// time. They are counted as passed.
    pub fn next(&self, bytes: u64, rate: u64, now: Instant) -> Instant {
        let mut paid = self.paid.lock();
        let from = paid.map_or(now, |paid| paid.max(now.checked_sub(BURST).unwrap_or(now)));
        let cost = Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
        *paid = Some(from + cost);
        from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_pass_at_the_rate() {
        let (throttle, begin) = (Throttle::new(1_000_000), Instant::now());
        for _ in 0..6 {
            throttle.pass(20_000).await;
        }
        assert!(begin.elapsed() >= Duration::from_millis(100), "the first one does not wait");
        Throttle::new(0).pass(u64::MAX).await;
    }
}
