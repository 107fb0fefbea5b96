//! The metrics of one role.

use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Metric, Registry};

use super::{Counter, CounterFamily, Gauge, GaugeFamily, Histogram, HistogramFamily};
use crate::role::Role;

/// The metrics of a role; cheap to clone. Every name is prefixed with the role's name.
#[derive(Debug, Clone)]
pub struct MetricsRegistry {
    role: Role,
    registry: Arc<RwLock<Registry>>,
}

impl MetricsRegistry {
    /// Creates the empty registry of a role.
    pub fn new(role: Role) -> Self {
        let registry = Registry::with_prefix(role.name);
        MetricsRegistry { role, registry: Arc::new(RwLock::new(registry)) }
    }

    /// The role.
    pub fn role(&self) -> &Role {
        &self.role
    }

    pub(super) fn register<M: Metric + Clone>(&self, name: &str, help: &str, metric: M) -> M {
        self.registry.write().register(name, help, metric.clone());
        metric
    }

    /// The help contains the label, so that it is visible before the first value.
    fn register_family<M: Metric>(&self, name: &str, help: &str, label: &str, family: M) {
        self.registry.write().register(name, format!("{help}, by {label}"), Described(family));
    }

    /// A counter, exported to Prometheus as `<role>_<name>_total`.
    pub fn counter(&self, name: &str, help: &str) -> Counter {
        self.register(name, help, Counter::default())
    }

    /// Counters with a label.
    pub fn counters(&self, name: &str, help: &str, label: &'static str) -> CounterFamily {
        let family = CounterFamily::new(label);
        self.register_family(name, help, label, family.family.clone());
        family
    }

    /// A gauge.
    pub fn gauge(&self, name: &str, help: &str) -> Gauge {
        self.register(name, help, Gauge::default())
    }

    /// Gauges with a label.
    pub fn gauges(&self, name: &str, help: &str, label: &'static str) -> GaugeFamily {
        let family = GaugeFamily::new(label);
        self.register_family(name, help, label, family.family.clone());
        family
    }

    /// A gauge computed on each read.
    pub fn gauge_fn(
        &self,
        name: &str,
        help: &str,
        value: impl Fn() -> f64 + Send + Sync + 'static,
    ) {
        self.registry.write().register(name, help, Computed::Gauge(Box::new(value)));
    }

    /// A counter maintained elsewhere, read on each export.
    pub fn counter_fn(
        &self,
        name: &str,
        help: &str,
        value: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        self.registry.write().register(name, help, Computed::Counter(Box::new(value)));
    }

    /// Counters maintained elsewhere with a label, read on each export.
    pub fn counters_fn(
        &self,
        name: &str,
        help: &str,
        label: &'static str,
        values: impl Fn() -> Vec<(String, u64)> + Send + Sync + 'static,
    ) {
        let family = Computed::Counters(label, Box::new(values));
        self.registry.write().register(name, format!("{help}, by {label}"), family);
    }

    /// Gauges with a label, computed on each read.
    pub fn gauges_fn(
        &self,
        name: &str,
        help: &str,
        label: &'static str,
        values: impl Fn() -> Vec<(String, f64)> + Send + Sync + 'static,
    ) {
        let family = Computed::Gauges(label, Box::new(values));
        self.registry.write().register(name, format!("{help}, by {label}"), family);
    }

    /// A histogram of durations in seconds.
    pub fn histogram(&self, name: &str, help: &str) -> Histogram {
        self.register(name, help, Histogram::default())
    }

    /// Histograms with a label.
    pub fn histograms(&self, name: &str, help: &str, label: &'static str) -> HistogramFamily {
        let family = HistogramFamily::new(label);
        self.register_family(name, help, label, family.family.clone());
        family
    }

    /// Times of verbs and their stages.
    pub(super) fn register_stages(&self, name: &str, help: &str, stages: super::stages::Exported) {
        self.registry.write().register(name, format!("{help}, by verb and stage"), stages);
    }

    /// Encodes all metrics in Prometheus' text format.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing into a String cannot fail.
        let _ = text::encode(&mut text, &self.registry.read());
        text
    }
}

/// A family whose name, type and help are exported even without values.
#[derive(Debug)]
struct Described<M>(M);

impl<M: EncodeMetric> EncodeMetric for Described<M> {
    fn encode(&self, encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        self.0.encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        self.0.metric_type()
    }

    fn is_empty(&self) -> bool {
        false
    }
}

/// A number maintained elsewhere.
enum Computed {
    Gauge(Box<dyn Fn() -> f64 + Send + Sync>),
    Counter(Box<dyn Fn() -> u64 + Send + Sync>),
    Gauges(&'static str, Box<dyn Fn() -> Vec<(String, f64)> + Send + Sync>),
    Counters(&'static str, Box<dyn Fn() -> Vec<(String, u64)> + Send + Sync>),
}

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Computed::Gauge(value) => write!(f, "Gauge({})", value()),
            Computed::Counter(value) => write!(f, "Counter({})", value()),
            Computed::Gauges(label, values) => write!(f, "Gauges({label}, {:?})", values()),
            Computed::Counters(label, values) => write!(f, "Counters({label}, {:?})", values()),
        }
    }
}

impl TypedMetric for Computed {}

impl EncodeMetric for Computed {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        match self {
            Computed::Gauge(value) => encoder.encode_gauge(&value()),
            Computed::Counter(value) => {
                encoder.encode_counter::<NoLabelSet, _, u64>(&value(), None)
            }
            Computed::Gauges(label, values) => {
                for (value, number) in values() {
                    let labels = [(*label, value)];
                    encoder.encode_family(&labels)?.encode_gauge(&number)?;
                }
                Ok(())
            }
            Computed::Counters(label, values) => {
                for (value, count) in values() {
                    let labels = [(*label, value)];
                    let mut one = encoder.encode_family(&labels)?;
                    one.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
                }
                Ok(())
            }
        }
    }

    fn metric_type(&self) -> MetricType {
        match self {
            Computed::Gauge(_) | Computed::Gauges(..) => MetricType::Gauge,
            Computed::Counter(_) | Computed::Counters(..) => MetricType::Counter,
        }
    }
}
