//! OM's metrics in addition to those of its RPCs: preallocated blocks, the state machine, the
//! tables.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use limits::{CallQueue, CallQueueStats};
use metastore::StoreMetrics;
use service::MetricsRegistry;

use crate::dispatch::Dispatcher;
use crate::state::{DirectoryCacheStats, MachineEvents};

/// Registers all metrics that are computed at their collection.
pub(crate) fn register(
    registry: &MetricsRegistry,
    dispatcher: &Arc<Dispatcher>,
    events: &Arc<MachineEvents>,
) {
    let of = |count: fn(&MachineEvents) -> &AtomicU64| {
        let events = Arc::clone(events);
        move || count(&events).load(Ordering::Relaxed)
    };
    registry.counter_fn("applied_entries", "Log entries applied", of(|e| &e.entries));
    registry.counter_fn("applied_rounds", "Batches of applied log entries", of(|e| &e.rounds));
    registry.counter_fn("table_flushes", "Flushes of the tables", of(|e| &e.flushes));
    let name = "apply_panics";
    registry.counter_fn(name, "Log entries refused because of a bug", of(|e| &e.panics));
    let name = "unknown_entries";
    registry.counter_fn(name, "Log entries unknown to this release", of(|e| &e.unknown));

    gauge(registry, dispatcher, "block_pool_ready", "Preallocated blocks", |dispatcher| {
        dispatcher.parts().pool.ready() as f64
    });
    gauge(
        registry,
        dispatcher,
        "container_locations",
        "Containers with a cached location",
        |dispatcher| dispatcher.parts().locations.len() as f64,
    );
    gauge(
        registry,
        dispatcher,
        "requests_waiting",
        "Requests waiting for admission",
        |dispatcher| dispatcher.parts().admission.waiting() as f64,
    );
    register_queues(registry, dispatcher);
    gauge(registry, dispatcher, "audit_lines_dropped", "Audit lines lost", |dispatcher| {
        dispatcher.parts().audit.dropped() as f64
    });
    gauge(
        registry,
        dispatcher,
        "directory_cache_bytes",
        "Bytes of decoded directories",
        |dispatcher| {
            dispatcher.parts().current.get().map_or(0.0, |t| t.directories().bytes() as f64)
        },
    );
    for (name, help, count) in [
        (
            "directory_cache_hits",
            "Directories read from the cache",
            (|s| &s.hits) as fn(&DirectoryCacheStats) -> &AtomicU64,
        ),
        ("directory_cache_misses", "Directories read from the tables", |s| &s.misses),
    ] {
        gauge(registry, dispatcher, name, help, move |dispatcher| {
            let tables = dispatcher.parts().current.get();
            tables.map_or(0.0, |t| count(t.directories().stats()).load(Ordering::Relaxed) as f64)
        });
    }
    let store =
        |dispatcher: &Dispatcher| dispatcher.parts().current.get().map(|t| t.store().metrics());
    gauge(
        registry,
        dispatcher,
        "rocksdb_block_cache_bytes",
        "Bytes of cached blocks",
        move |dispatcher| store(dispatcher).map_or(0.0, |m| m.block_cache_bytes as f64),
    );
    gauge(
        registry,
        dispatcher,
        "rocksdb_memtable_bytes",
        "Bytes of unflushed rows",
        move |dispatcher| store(dispatcher).map_or(0.0, |m| m.memtable_bytes as f64),
    );
    gauge(registry, dispatcher, "rocksdb_sst_bytes", "Bytes of table files", move |dispatcher| {
        store(dispatcher).map_or(0.0, |m| m.sst_bytes as f64)
    });
    gauge(
        registry,
        dispatcher,
        "rocksdb_pending_compaction_bytes",
        "Bytes to compact",
        move |dispatcher| store(dispatcher).map_or(0.0, |m| m.pending_compaction_bytes as f64),
    );
    for (name, help, count) in [
        (
            "rocksdb_compaction_read_bytes",
            "Bytes read by compactions since the tables were opened",
            (|m| m.compaction_read_bytes) as fn(&StoreMetrics) -> u64,
        ),
        (
            "rocksdb_compaction_written_bytes",
            "Bytes written by compactions since the tables were opened",
            |m| m.compaction_written_bytes,
        ),
        ("rocksdb_failed_compactions", "Failed compactions; their files are unchanged", |m| {
            m.failed_compactions
        }),
        ("rocksdb_gaps", "Ranges of tombstones that lists skip", |m| m.gaps as u64),
    ] {
        gauge(registry, dispatcher, name, help, move |dispatcher| {
            store(dispatcher).map_or(0.0, |m| count(&m) as f64)
        });
    }
}

/// Registers metrics of queued requests.
fn register_queues(registry: &MetricsRegistry, dispatcher: &Arc<Dispatcher>) {
    type Count = fn(&CallQueueStats) -> &AtomicU64;
    let counts: [(&str, &str, Count); 3] = [
        ("admission_at_once", "Requests admitted at once", |s| &s.at_once),
        ("admission_waited", "Requests admitted after waiting", |s| &s.waited),
        ("admission_refused", "Requests refused because too many waited", |s| &s.refused),
    ];
    for (name, help, count) in counts {
        let dispatcher = Arc::downgrade(dispatcher);
        registry.counters_fn(name, help, "kind", move || {
            let Some(dispatcher) = dispatcher.upgrade() else { return Vec::new() };
            let of = |(kind, queue): (&str, &CallQueue)| {
                (kind.to_owned(), count(queue.stats()).load(Ordering::Relaxed))
            };
            dispatcher.parts().admission.queues().map(of).to_vec()
        });
    }
    let taken = Arc::downgrade(dispatcher);
    let name = "admission_taken";
    registry.gauges_fn(name, "Admitted requests in progress", "kind", move || {
        let Some(dispatcher) = taken.upgrade() else { return Vec::new() };
        let queues = dispatcher.parts().admission.queues();
        queues.map(|(kind, queue)| (kind.to_owned(), queue.taken() as f64)).to_vec()
    });
    let top = Arc::downgrade(dispatcher);
    let help = "Shares of all requests of the users with the most requests";
    registry.gauges_fn("user_share", help, "user", move || {
        top.upgrade().map_or_else(Vec::new, |d| d.parts().admission.top_users())
    });
}

/// Registers metrics of the Hadoop RPC endpoint.
pub(crate) fn register_hadoop(registry: &MetricsRegistry, server: &hadoop_rpc::Server) {
    let of = |count: fn(&hadoop_rpc::ServerStats) -> &AtomicU64| {
        let server = server.clone();
        move || count(server.stats()).load(Ordering::Relaxed)
    };
    let connections = of(|s| &s.connections);
    let name = "hadoop_rpc_connections";
    registry.gauge_fn(name, "Open connections of Hadoop RPC", move || connections() as f64);
    let flying = server.clone();
    registry.gauge_fn("hadoop_rpc_in_flight", "Calls of Hadoop RPC in progress", move || {
        flying.in_flight() as f64
    });
    let name = "hadoop_rpc_refused";
    registry.counter_fn(name, "Calls refused while too many were in progress", of(|s| &s.refused));
    let name = "hadoop_rpc_repeated";
    registry.counter_fn(
        name,
        "Retried calls that were answered without repetition",
        of(|s| &s.repeated),
    );
}

fn gauge(
    registry: &MetricsRegistry,
    dispatcher: &Arc<Dispatcher>,
    name: &str,
    help: &str,
    value: impl Fn(&Dispatcher) -> f64 + Send + Sync + 'static,
) {
    // Weak: the registry must not keep the dispatcher, and with it the tables, alive.
    let dispatcher = Arc::downgrade(dispatcher);
    registry.gauge_fn(name, help, move || {
        dispatcher.upgrade().map_or(0.0, |dispatcher| value(&dispatcher))
    });
}
