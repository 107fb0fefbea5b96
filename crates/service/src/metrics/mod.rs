//! Metrics: a registry per role, cheap histograms, the measurements of RPC endpoints, and the
//! stages of their requests.

mod family;
mod histogram;
mod limits;
mod registry;
mod rpc;
mod stages;
mod threads;

pub use family::{CounterFamily, GaugeFamily, HistogramFamily};
pub use histogram::{Histogram, Spread};
pub use registry::MetricsRegistry;
pub use rpc::{RpcCall, RpcMethod, RpcMetrics};
pub use stages::{StageMetrics, StagesOfVerb, Took, VerbTimes};

/// An increasing number; cheap to clone, one atomic addition to count.
pub type Counter = prometheus_client::metrics::counter::Counter;
/// A number that goes up and down; cheap to clone.
pub type Gauge = prometheus_client::metrics::gauge::Gauge;
