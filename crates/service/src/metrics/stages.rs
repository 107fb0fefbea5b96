//! Stages of requests: for each verb of an endpoint the duration of its stages.
//!
//! Every thread records into counters of its own, so that recording costs no traffic between cores;
//! readers sum them up.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;

use super::histogram::nanos;
use super::threads::{SHARDS, shard_of_thread};
use super::{Histogram, MetricsRegistry, Spread};

/// Index of the whole request's time, before those of the stages.
const TOTAL: usize = 0;

/// The times of all verbs of an endpoint; cheap to clone.
#[derive(Debug, Clone)]
pub struct StageMetrics {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    stages: &'static [&'static str],
    verbs: RwLock<BTreeMap<&'static str, StagesOfVerb>>,
    since: Mutex<Instant>,
}

/// The times of one verb. Store it where calls are dispatched by number.
#[derive(Debug, Clone)]
pub struct StagesOfVerb {
    shards: Arc<[Shard; SHARDS]>,
    /// The values at the start of the current period, the whole and each stage.
    before: Arc<Mutex<Vec<Spread>>>,
}

/// The counters of a thread. Aligned, so that no two threads write to one cache line.
#[derive(Debug)]
#[repr(align(128))]
struct Shard {
    times: Box<[Time]>,
}

#[derive(Debug)]
struct Time {
    spread: Histogram,
    /// The longest time of the current period, in nanoseconds.
    longest: AtomicU64,
}

/// The times of a verb, or of one of its stages, in the current period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Took {
    /// Number and distribution.
    pub spread: Spread,
    /// The longest time.
    pub longest: Duration,
}

/// The times of a verb in the current period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerbTimes {
    /// The verb.
    pub verb: &'static str,
    /// From receipt to response.
    pub total: Took,
    /// Its stages by name; those without any time are left out.
    pub stages: Vec<(&'static str, Took)>,
}

impl StageMetrics {
    /// Registers `<role>_<name>` with the labels `verb` and `stage`.
    pub fn new(
        registry: &MetricsRegistry,
        name: &str,
        help: &str,
        stages: &'static [&'static str],
    ) -> Self {
        let (verbs, since) = (RwLock::default(), Mutex::new(Instant::now()));
        let metrics = StageMetrics { inner: Arc::new(Inner { stages, verbs, since }) };
        registry.register_stages(name, help, Exported(metrics.clone()));
        metrics
    }

    /// A verb's times, created on first use.
    pub fn verb(&self, name: &'static str) -> StagesOfVerb {
        if let Some(verb) = self.inner.verbs.read().get(name) {
            return verb.clone();
        }
        let times = self.inner.stages.len() + 1;
        let mut verbs = self.inner.verbs.write();
        verbs.entry(name).or_insert_with(|| StagesOfVerb::new(times)).clone()
    }

    /// Length of the current period so far.
    pub fn period(&self) -> Duration {
        self.inner.since.lock().elapsed()
    }

    /// The times of the current period, the verb with the largest total first.
    pub fn times(&self) -> Vec<VerbTimes> {
        let verbs = self.inner.verbs.read();
        let mut times: Vec<VerbTimes> = verbs
            .iter()
            .map(|(verb, held)| {
                let mut took = held.took().into_iter();
                let total = took.next().unwrap_or_default();
                let stages = self.inner.stages.iter().copied().zip(took);
                let stages = stages.filter(|(_, took)| took.spread.count() > 0).collect();
                VerbTimes { verb, total, stages }
            })
            .filter(|times| times.total.spread.count() > 0)
            .collect();
        times.sort_by(|a, b| {
            let (a_sum, b_sum) = (a.total.spread.sum(), b.total.spread.sum());
            b_sum.cmp(&a_sum).then_with(|| a.verb.cmp(b.verb))
        });
        times
    }

    /// Starts a new period. Prometheus' values continue.
    pub fn begin_period(&self) {
        for verb in self.inner.verbs.read().values() {
            verb.begin_period();
        }
        *self.inner.since.lock() = Instant::now();
    }
}

impl StagesOfVerb {
    fn new(times: usize) -> Self {
        let shard = || Shard { times: (0..times).map(|_| Time::new()).collect() };
        let shards = Arc::new(std::array::from_fn(|_| shard()));
        StagesOfVerb { shards, before: Arc::new(Mutex::new(vec![Spread::default(); times])) }
    }

    /// Records a request: the whole time, and that of each stage in their order. A stage of zero
    /// duration did not happen.
    pub fn record(&self, total: Duration, stages: &[Duration]) {
        let Some(shard) = self.shards.get(shard_of_thread()) else { return };
        let mut times = shard.times.iter();
        if let Some(whole) = times.next() {
            whole.record(total);
        }
        for (time, took) in times.zip(stages) {
            if !took.is_zero() {
                time.record(*took);
            }
        }
    }

    /// The whole and each stage since the start, over all threads.
    fn spreads(&self) -> Vec<Spread> {
        let times = self.shards.first().map_or(0, |shard| shard.times.len());
        let of = |i: usize| {
            let shards = self.shards.iter().filter_map(|shard| shard.times.get(i));
            shards.fold(Spread::default(), |sum, time| sum.plus(&time.spread.spread()))
        };
        (TOTAL..times).map(of).collect()
    }

    fn took(&self) -> Vec<Took> {
        let before = self.before.lock();
        let now = self.spreads();
        let longest = |i: usize| {
            let shards = self.shards.iter().filter_map(|shard| shard.times.get(i));
            let longest = shards.map(|time| time.longest.load(Ordering::Relaxed)).max();
            Duration::from_nanos(longest.unwrap_or(0))
        };
        let since = now.iter().zip(before.iter()).enumerate();
        since
            .map(|(i, (now, before))| Took { spread: now.since(before), longest: longest(i) })
            .collect()
    }

    fn begin_period(&self) {
        let mut before = self.before.lock();
        *before = self.spreads();
        for time in self.shards.iter().flat_map(|shard| &shard.times) {
            time.longest.store(0, Ordering::Relaxed);
        }
    }
}

impl Time {
    fn new() -> Self {
        Time { spread: Histogram::of_one_thread(), longest: AtomicU64::new(0) }
    }

    fn record(&self, took: Duration) {
        self.spread.record(took);
        let ns = nanos(took);
        if ns > self.longest.load(Ordering::Relaxed) {
            self.longest.fetch_max(ns, Ordering::Relaxed);
        }
    }
}

/// A metric with one histogram per verb and stage.
pub(super) struct Exported(StageMetrics);

impl fmt::Debug for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl EncodeMetric for Exported {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        let inner = &self.0.inner;
        for (verb, held) in inner.verbs.read().iter() {
            let names = std::iter::once("total").chain(inner.stages.iter().copied());
            for (stage, spread) in names.zip(held.spreads()) {
                if spread.count() > 0 {
                    let labels = [("verb", *verb), ("stage", stage)];
                    spread.encode(encoder.encode_family(&labels)?)?;
                }
            }
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }

    fn is_empty(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;

    const STAGES: &[&str] = &["queue", "apply"];

    fn metrics() -> (MetricsRegistry, StageMetrics) {
        let registry = MetricsRegistry::new(Role::new("om", "om1"));
        let stages = StageMetrics::new(&registry, "request_stage_seconds", "Time", STAGES);
        (registry, stages)
    }

    fn micros(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    #[test]
    fn times_of_all_threads_are_told_by_verb_and_stage() {
        let (registry, metrics) = metrics();
        let create = metrics.verb("CreateKey");
        let threads: Vec<_> = (0..10)
            .map(|n| {
                let create = create.clone();
                std::thread::spawn(move || create.record(micros(100 + n), &[micros(0), micros(60)]))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        metrics.verb("LookupKey").record(micros(3), &[micros(1), micros(0)]);
        metrics.verb("NeverSeen");
        let times = metrics.times();
        let verbs: Vec<_> = times.iter().map(|t| (t.verb, t.total.spread.count())).collect();
        assert_eq!(verbs, [("CreateKey", 10), ("LookupKey", 1)]);
        assert_eq!(times[0].total.longest, micros(109));
        assert_eq!(times[0].stages.len(), 1, "nothing waited in the queue");
        assert_eq!(times[0].stages[0].0, "apply");
        assert_eq!(times[0].stages[0].1.spread.sum(), micros(600));
        let text = registry.encode();
        for line in [
            "om_request_stage_seconds_count{verb=\"CreateKey\",stage=\"apply\"} 10",
            "om_request_stage_seconds_count{verb=\"LookupKey\",stage=\"total\"} 1",
        ] {
            assert!(text.contains(line), "no {line} in {text}");
        }
        assert!(!text.contains("NeverSeen") && !text.contains("stage=\"queue\"} 10"), "{text}");
    }

    #[test]
    fn a_new_period_forgets_what_prometheus_does_not() {
        let (registry, metrics) = metrics();
        let create = metrics.verb("CreateKey");
        create.record(micros(9_000), &[micros(1), micros(1)]);
        metrics.begin_period();
        assert!(metrics.times().is_empty());
        create.record(micros(5), &[micros(1), micros(1)]);
        let times = metrics.times();
        assert_eq!((times[0].total.spread.count(), times[0].total.longest), (1, micros(5)));
        let whole = "om_request_stage_seconds_count{verb=\"CreateKey\",stage=\"total\"} 2";
        assert!(registry.encode().contains(whole));
    }
}
