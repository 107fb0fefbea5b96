//! Counters per thread, so that counting costs no traffic between cores.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::{MetricType, TypedMetric};

/// Number of threads that have counters of their own; further ones share them.
pub(super) const SHARDS: usize = 8;

/// Index of this thread's counters among the [`SHARDS`].
pub(super) fn shard_of_thread() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = THREADS.fetch_add(1, Ordering::Relaxed) % SHARDS;
    }
    OWN.with(|own| *own)
}

/// A current count of items that begin on one thread and end on another. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Level {
    shards: Arc<[Shard; SHARDS]>,
}

/// Begun minus ended items of a thread. Aligned, so that no two threads write to one cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard(AtomicI64);

impl Default for Level {
    fn default() -> Self {
        Level { shards: Arc::new(std::array::from_fn(|_| Shard::default())) }
    }
}

impl Level {
    /// Adds one.
    pub(super) fn inc(&self) {
        self.add(1);
    }

    /// Subtracts one.
    pub(super) fn dec(&self) {
        self.add(-1);
    }

    /// The current count. Concurrent changes may or may not be included.
    pub(super) fn get(&self) -> u64 {
        let count = |shard: &Shard| shard.0.load(Ordering::Relaxed);
        let sum = self.shards.iter().fold(0_i64, |sum, shard| sum.wrapping_add(count(shard)));
        u64::try_from(sum).unwrap_or(0)
    }

    fn add(&self, by: i64) {
        if let Some(shard) = self.shards.get(shard_of_thread()) {
            shard.0.fetch_add(by, Ordering::Relaxed);
        }
    }
}

impl TypedMetric for Level {
    const TYPE: MetricType = MetricType::Gauge;
}

/// Encoded as an integer gauge.
impl EncodeMetric for Level {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        encoder.encode_gauge(&self.get())
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_thread_begins_another_one_ends() {
        let level = Level::default();
        (0..3).for_each(|_| level.inc());
        let other = level.clone();
        std::thread::spawn(move || (0..2).for_each(|_| other.dec())).join().unwrap();
        assert_eq!(level.get(), 1);
        level.dec();
        assert_eq!(level.get(), 0);
        level.dec();
        assert_eq!(level.get(), 0, "never less than none");
    }
}
