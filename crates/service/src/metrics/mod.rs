//! Metrics: a registry per role, cheap histograms, and what every RPC endpoint measures.

mod family;
mod histogram;
mod limits;
mod registry;
mod rpc;

pub use family::{CounterFamily, GaugeFamily, HistogramFamily};
pub use histogram::Histogram;
pub use registry::MetricsRegistry;
pub use rpc::{RpcCall, RpcMethod, RpcMetrics};

/// A number that only grows; cheap to clone, one atomic addition to count.
pub type Counter = prometheus_client::metrics::counter::Counter;
/// A number that goes up and down; cheap to clone.
pub type Gauge = prometheus_client::metrics::gauge::Gauge;
