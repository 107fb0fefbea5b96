//! Metrics of a service's Raft group.

use std::sync::atomic::{AtomicU64, Ordering};

use multiraft::{HostMetrics, LogHandle, LogMetrics, RaftHost};
use service::MetricsRegistry;

/// Exports the counters of a host and its log as `<role>_raft_...`, read on each export.
pub(crate) fn export(registry: &MetricsRegistry, host: &RaftHost, log: &LogHandle) {
    let used = log.clone();
    registry.gauge_fn("raft_log_bytes", "Bytes of the Raft log", move || used.used_bytes() as f64);
    let count = |name: &str, help: &str, value: fn(&LogMetrics) -> &AtomicU64| {
        let metrics = log.metrics().clone();
        let read = move || value(&metrics).load(Ordering::Relaxed);
        registry.counter_fn(&format!("raft_log_{name}"), help, read);
    };
    count("writes", "Durable writes of the Raft log", |m| &m.writes);
    count("entries", "Entries written to the Raft log", |m| &m.entries);
    count("written_bytes", "Bytes written to the Raft log", |m| &m.bytes);
    count("failures", "Failed writes of the Raft log", |m| &m.failures);
    for (name, help) in HostMetrics::descriptions() {
        let host = host.clone();
        registry.gauge_fn(&format!("raft_{name}"), help, move || {
            let all = host.metrics().snapshot();
            all.into_iter().find(|(other, _)| *other == name).map_or(0.0, |(_, v)| v as f64)
        });
    }
}
