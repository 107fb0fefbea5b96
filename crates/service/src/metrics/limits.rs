//! Connections of a port, and memory for data in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use limits::{ConnectionStats, Connections, MemoryBudget, MemoryClass};

use super::MetricsRegistry;

impl MetricsRegistry {
    /// Exports the connections of a port, under its name.
    pub fn connections(&self, port: &str, connections: &Arc<Connections>) {
        let of = |count: fn(&ConnectionStats) -> &AtomicU64| {
            let connections = Arc::clone(connections);
            move || count(connections.stats()).load(Ordering::Relaxed)
        };
        let open = of(|stats| &stats.open);
        let name = format!("{port}_connections_open");
        self.gauge_fn(&name, "Open connections", move || open() as f64);
        let counter = |what: &str, help: &str, count: fn(&ConnectionStats) -> &AtomicU64| {
            self.counter_fn(&format!("{port}_connections_{what}"), help, of(count));
        };
        counter("refused", "Connections refused because too many were open", |s| &s.refused);
        counter("evicted", "Silent connections evicted by new ones", |s| &s.evicted);
        counter("timed_out", "Connections closed after a timeout", |s| &s.timed_out);
    }

    /// Exports the use of the memory for data in flight.
    pub fn memory(&self, budget: &MemoryBudget) {
        let limit = budget.limit();
        self.gauge_fn("memory_limit_bytes", "Maximum bytes of data in flight", move || {
            limit as f64
        });
        for class in MemoryClass::ALL {
            let name = class.name();
            let used = budget.clone();
            self.gauge_fn(&format!("memory_{name}_bytes"), "Bytes of data in flight", move || {
                used.used(class) as f64
            });
            let waiting = budget.clone();
            let help = "Requests that wait for memory for data in flight";
            self.gauge_fn(&format!("memory_{name}_waiting"), help, move || {
                waiting.waiting(class) as f64
            });
        }
    }
}
