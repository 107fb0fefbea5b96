//! Bytes per second, of copies, scans, and moves between disks.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Bytes that may be sent ahead of time after a pause.
const BURST: Duration = Duration::from_millis(250);

/// Limits the bytes per second of all callers together.
#[derive(Debug, Default)]
pub struct Throttle {
    /// Time at which all passed bytes would have passed evenly.
    paid: Mutex<Option<Instant>>,
}

impl Throttle {
    /// Returns the time at which `bytes` more, requested at `now`, may pass, at a rate that may
    /// differ each time. They are counted as passed.
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

    #[test]
    fn bytes_pass_at_the_rate() {
        let (throttle, begin) = (Throttle::default(), Instant::now());
        let next = |now| throttle.next(20_000, 100_000, now);
        assert!(next(begin) <= begin, "the first one does not wait");
        (0..9).for_each(|_| _ = next(begin));
        assert_eq!(next(begin), begin + Duration::from_secs(2));
        let later = begin + Duration::from_secs(60);
        assert_eq!(next(later), later - BURST, "no more is ahead of its time after a pause");
    }
}
