//! A histogram of durations that costs two atomic additions to record into.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

/// Bucket `i` holds durations up to 2^i microseconds; the last one everything longer (above 67 s).
const BUCKETS: usize = 28;

/// Durations in buckets that double from 1 µs to 67 s.
#[derive(Clone)]
pub struct Histogram {
    inner: Arc<Inner>,
}

struct Inner {
    buckets: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        let inner = Inner {
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            sum_ns: AtomicU64::new(0),
        };
        Histogram { inner: Arc::new(inner) }
    }
}

impl Histogram {
    /// Records one duration.
    pub fn record(&self, duration: Duration) {
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let micros = ns.div_ceil(1_000);
        // The smallest i with micros <= 2^i.
        let index = (64 - micros.saturating_sub(1).leading_zeros()) as usize;
        if let Some(bucket) = self.inner.buckets.get(index.min(BUCKETS - 1)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.inner.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        self.inner.buckets.iter().map(|b| b.load(Ordering::Relaxed)).sum()
    }

    /// Their sum.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.inner.sum_ns.load(Ordering::Relaxed))
    }

    /// Their mean; zero when there is none.
    pub fn mean(&self) -> Duration {
        let count = self.count();
        self.inner
            .sum_ns
            .load(Ordering::Relaxed)
            .checked_div(count)
            .map_or(Duration::ZERO, Duration::from_nanos)
    }

    /// The duration below which `quantile` (0 to 1) of them lie, interpolated within its bucket.
    pub fn quantile(&self, quantile: f64) -> Duration {
        let counts: Vec<u64> =
            self.inner.buckets.iter().map(|b| b.load(Ordering::Relaxed)).collect();
        let rank = quantile.clamp(0.0, 1.0) * counts.iter().sum::<u64>() as f64;
        let mut below = 0.0;
        for (i, count) in counts.iter().enumerate() {
            let count = *count as f64;
            if count > 0.0 && below + count >= rank {
                let lower = if i == 0 { 0.0 } else { upper_bound(i - 1) };
                return Duration::from_secs_f64(
                    lower + (upper_bound(i) - lower) * (rank - below) / count,
                );
            }
            below += count;
        }
        Duration::ZERO
    }
}

/// Upper bound of a bucket in seconds.
fn upper_bound(index: usize) -> f64 {
    (1u64 << index) as f64 * 1e-6
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("mean", &self.mean())
            .finish()
    }
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        let mut count = 0;
        let buckets: Vec<(f64, u64)> = self
            .inner
            .buckets
            .iter()
            .enumerate()
            .map(|(i, bucket)| {
                let held = bucket.load(Ordering::Relaxed);
                count += held;
                (if i == BUCKETS - 1 { f64::INFINITY } else { upper_bound(i) }, held)
            })
            .collect();
        encoder.encode_histogram::<NoLabelSet>(self.sum().as_secs_f64(), count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_falls_into_the_first_bucket_that_holds_it() {
        let cases = [
            (0, 0),
            (1, 0),
            (1_000, 0),
            (1_001, 1),
            (2_000, 1),
            (2_001, 2),
            (4_000, 2),
            (u64::MAX, BUCKETS - 1),
        ];
        for (ns, bucket) in cases {
            let histogram = Histogram::default();
            histogram.record(Duration::from_nanos(ns));
            let filled =
                histogram.inner.buckets.iter().position(|b| b.load(Ordering::Relaxed) == 1);
            assert_eq!(filled, Some(bucket), "{ns} ns");
        }
    }

    #[test]
    fn quantiles_lie_within_the_bucket_of_their_rank() {
        let histogram = Histogram::default();
        for _ in 0..99 {
            histogram.record(Duration::from_micros(100));
        }
        histogram.record(Duration::from_millis(100));
        let median = histogram.quantile(0.5);
        assert!(
            median > Duration::from_micros(64) && median <= Duration::from_micros(128),
            "{median:?}"
        );
        assert!(histogram.quantile(1.0) > Duration::from_millis(65));
        assert_eq!(histogram.count(), 100);
    }
}
