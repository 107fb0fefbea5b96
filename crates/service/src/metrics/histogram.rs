//! A histogram of durations; recording costs two atomic additions to counters that no two threads
//! share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

use super::threads::{SHARDS, shard_of_thread};

/// Bucket `i` counts durations up to 2^i microseconds; the last one all longer ones (above 67 s).
const BUCKETS: usize = 28;

/// Durations in buckets that double from 1 µs to 67 s. Every thread records into counters of its
/// own; readers sum them up.
#[derive(Clone)]
pub struct Histogram {
    /// One per thread, or a single one.
    shards: Arc<[Shard]>,
}

/// The counters of a thread. Aligned, so that no two threads write to one cache line.
#[derive(Default)]
#[repr(align(128))]
struct Shard {
    buckets: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { shards: (0..SHARDS).map(|_| Shard::default()).collect() }
    }
}

impl Histogram {
    /// A smaller histogram, whose counters all threads share: for values recorded by one thread at
    /// a time.
    pub fn of_one_thread() -> Self {
        Histogram { shards: Arc::new([Shard::default()]) }
    }

    /// Records one duration.
    pub fn record(&self, duration: Duration) {
        let own = match &*self.shards {
            [one] => Some(one),
            many => many.get(shard_of_thread()),
        };
        if let Some(shard) = own {
            shard.record(duration);
        }
    }

    /// Number of recorded durations.
    pub fn count(&self) -> u64 {
        self.spread().count()
    }

    /// Their sum.
    pub fn sum(&self) -> Duration {
        self.spread().sum()
    }

    /// Their mean; zero if there are none.
    pub fn mean(&self) -> Duration {
        let spread = self.spread();
        let count = spread.count();
        spread.sum_ns.checked_div(count).map_or(Duration::ZERO, Duration::from_nanos)
    }

    /// The duration below which the fraction `quantile` (0 to 1) of them lies, interpolated within
    /// its bucket.
    pub fn quantile(&self, quantile: f64) -> Duration {
        self.spread().quantile(quantile)
    }

    /// The values recorded so far.
    pub fn spread(&self) -> Spread {
        self.shards.iter().fold(Spread::default(), |sum, shard| sum.plus(&shard.spread()))
    }
}

impl Shard {
    fn record(&self, duration: Duration) {
        let ns = nanos(duration);
        let micros = ns.div_ceil(1_000);
        // The smallest i with micros <= 2^i.
        let index = (64 - micros.saturating_sub(1).leading_zeros()) as usize;
        if let Some(bucket) = self.buckets.get(index.min(BUCKETS - 1)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    fn spread(&self) -> Spread {
        let buckets = std::array::from_fn(|i| {
            self.buckets.get(i).map_or(0, |bucket| bucket.load(Ordering::Relaxed))
        });
        Spread { buckets, sum_ns: self.sum_ns.load(Ordering::Relaxed) }
    }
}

/// The values of a histogram at one moment, or those recorded between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    buckets: [u64; BUCKETS],
    sum_ns: u64,
}

impl Default for Spread {
    fn default() -> Self {
        Spread { buckets: [0; BUCKETS], sum_ns: 0 }
    }
}

impl Spread {
    /// From numbers received over the network: nonexistent buckets count as the last one.
    pub fn from_parts(buckets: impl IntoIterator<Item = u64>, sum: Duration) -> Self {
        let mut spread = Spread { sum_ns: nanos(sum), ..Spread::default() };
        for (i, count) in buckets.into_iter().enumerate() {
            if let Some(bucket) = spread.buckets.get_mut(i.min(BUCKETS - 1)) {
                *bucket = bucket.saturating_add(count);
            }
        }
        spread
    }

    /// Number of durations in each bucket: bucket `i` counts those up to 2^i microseconds, the last
    /// one all longer ones.
    pub fn buckets(&self) -> &[u64] {
        &self.buckets
    }

    /// Number of durations.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |sum: u64, n| sum.saturating_add(*n))
    }

    /// Their sum.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum_ns)
    }

    /// The values recorded after `earlier`.
    pub fn since(&self, earlier: &Spread) -> Spread {
        let pairs = self.buckets.iter().zip(&earlier.buckets);
        let buckets = pairs.map(|(now, then)| now.saturating_sub(*then));
        let sum = Duration::from_nanos(self.sum_ns.saturating_sub(earlier.sum_ns));
        Spread::from_parts(buckets, sum)
    }

    /// The sum of both.
    pub fn plus(&self, other: &Spread) -> Spread {
        let pairs = self.buckets.iter().zip(&other.buckets);
        let buckets = pairs.map(|(one, two)| one.saturating_add(*two));
        let sum = Duration::from_nanos(self.sum_ns.saturating_add(other.sum_ns));
        Spread::from_parts(buckets, sum)
    }

    /// An upper limit of all durations: the bound of the last non-empty bucket.
    pub fn longest(&self) -> Duration {
        let last = self.buckets.iter().rposition(|count| *count > 0);
        last.map_or(Duration::ZERO, |i| Duration::from_secs_f64(upper_bound(i)))
    }

    /// The duration below which the fraction `quantile` (0 to 1) of them lies, interpolated within
    /// its bucket.
    pub fn quantile(&self, quantile: f64) -> Duration {
        let rank = quantile.clamp(0.0, 1.0) * self.count() as f64;
        let mut below = 0.0;
        for (i, count) in self.buckets.iter().enumerate() {
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

    /// Encodes it as a metric of its own.
    pub(super) fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        let buckets: Vec<(f64, u64)> = self
            .buckets
            .iter()
            .enumerate()
            .map(|(i, held)| (if i == BUCKETS - 1 { f64::INFINITY } else { upper_bound(i) }, *held))
            .collect();
        let (sum, count) = (self.sum().as_secs_f64(), self.count());
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }
}

pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
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
    fn encode(&self, encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        self.spread().encode(encoder)
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
            let filled = histogram.spread().buckets().iter().position(|count| *count == 1);
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

    #[test]
    fn what_came_between_two_moments_is_told_apart() {
        let histogram = Histogram::default();
        histogram.record(Duration::from_millis(900));
        let before = histogram.spread();
        histogram.record(Duration::from_micros(3));
        let came = histogram.spread().since(&before);
        assert_eq!((came.count(), came.sum()), (1, Duration::from_micros(3)));
        assert_eq!(came.longest(), Duration::from_micros(4));
        assert_eq!(came.plus(&before), histogram.spread());
        let wire = Spread::from_parts(came.buckets().iter().copied().chain([7; 9]), came.sum());
        assert_eq!(wire.count(), 1 + 7 * 9, "what is too long counts as the longest");
        assert_eq!(Spread::default().longest(), Duration::ZERO);
    }
}
