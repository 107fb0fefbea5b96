//! Durations of operations.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// Maximum recorded duration, in nanoseconds: ten minutes.
const LONGEST: u64 = 600_000_000_000;
/// Number of significant digits.
const DIGITS: u8 = 3;

/// The durations of one kind of operation.
#[derive(Clone)]
pub struct Timer {
    histogram: Histogram<u64>,
}

impl Default for Timer {
    fn default() -> Self {
        // The bounds are constants that are valid for a histogram.
        let histogram = Histogram::new_with_bounds(1, LONGEST, DIGITS)
            .unwrap_or_else(|e| unreachable!("histogram bounds: {e}"));
        Self { histogram }
    }
}

impl Timer {
    /// Records the time since `began`.
    pub fn since(&mut self, began: Instant) {
        self.record(began.elapsed());
    }

    /// Records one operation.
    pub fn record(&mut self, took: Duration) {
        self.histogram.saturating_record((took.as_nanos() as u64).max(1));
    }

    /// Adds the records of another timer.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds.
        let _ = self.histogram.add(&other.histogram);
    }

    /// Operations recorded.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The duration below which a share of the operations took.
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_nanos(self.histogram.value_at_quantile(share))
    }

    /// Minimum.
    pub fn min(&self) -> Duration {
        Duration::from_nanos(if self.histogram.is_empty() { 0 } else { self.histogram.min() })
    }

    /// Maximum.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.histogram.max())
    }

    /// Mean.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.histogram.mean() as u64)
    }

    /// Standard deviation.
    pub fn deviation(&self) -> Duration {
        Duration::from_nanos(self.histogram.stdev() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_merged_timers_are_those_of_all() {
        let (mut a, mut b) = (Timer::default(), Timer::default());
        (1..=500).for_each(|ms| a.record(Duration::from_millis(ms)));
        (501..=1000).for_each(|ms| b.record(Duration::from_millis(ms)));
        a.merge(&b);
        assert_eq!(a.count(), 1000);
        for (share, ms) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let got = a.quantile(share).as_secs_f64() * 1e3;
            assert!((got - ms).abs() / ms < 0.002, "{share}: {got}");
        }
        assert_eq!(Timer::default().min(), Duration::ZERO);
    }
}
