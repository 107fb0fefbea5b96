//! Measurements of every RPC endpoint: waiting and running calls, queueing and processing time per
//! method, failures.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::RwLock;

use super::threads::Level;
use super::{Counter, CounterFamily, Histogram, HistogramFamily, MetricsRegistry};

/// The measurements of one endpoint of a role; cheap to clone.
#[derive(Clone)]
pub struct RpcMetrics {
    inner: Arc<Inner>,
}

struct Inner {
    waiting: Level,
    running: Level,
    queue_time: HistogramFamily,
    processing_time: HistogramFamily,
    failures: CounterFamily,
    methods: RwLock<HashMap<&'static str, RpcMethod>>,
}

/// One method's measurements. Store it where calls are dispatched by number.
#[derive(Debug, Clone)]
pub struct RpcMethod {
    inner: Arc<Method>,
}

#[derive(Debug)]
struct Method {
    name: &'static str,
    waiting: Level,
    running: Level,
    queue_time: Histogram,
    processing_time: Histogram,
    failures: Counter,
}

/// A call in progress; dropping it without [`RpcCall::finish`] counts it as failed.
#[derive(Debug)]
pub struct RpcCall<'a> {
    method: Cow<'a, RpcMethod>,
    received: Instant,
    started: Option<Instant>,
    finished: bool,
}

/// A line of the RPC table on a status page.
#[derive(Debug, Clone, serde::Serialize)]
#[allow(missing_docs)]
pub struct MethodSummary {
    pub method: String,
    pub calls: u64,
    pub failures: u64,
    pub queue_ms_p99: f64,
    pub processing_ms_mean: f64,
    pub processing_ms_p99: f64,
}

impl RpcMetrics {
    /// Registers the measurements of an endpoint under its name: `om_grpc_queue_length` and so on.
    pub fn new(registry: &MetricsRegistry, endpoint: &str) -> Self {
        let name = |what: &str| format!("{endpoint}_{what}");
        let level = |what: &str, help: &str| registry.register(&name(what), help, Level::default());
        RpcMetrics {
            inner: Arc::new(Inner {
                waiting: level("queue_length", "Calls received and not yet started"),
                running: level("running_calls", "Calls being processed"),
                queue_time: registry.histograms(
                    &name("queue_time_seconds"),
                    "Time from receipt to start",
                    "method",
                ),
                processing_time: registry.histograms(
                    &name("processing_time_seconds"),
                    "Time from start to answer",
                    "method",
                ),
                failures: registry.counters(&name("failures"), "Calls that failed", "method"),
                methods: RwLock::new(HashMap::new()),
            }),
        }
    }

    /// A method's measurements, created on first use.
    pub fn method(&self, name: &'static str) -> RpcMethod {
        if let Some(method) = self.inner.methods.read().get(name) {
            return method.clone();
        }
        let method = RpcMethod {
            inner: Arc::new(Method {
                name,
                waiting: self.inner.waiting.clone(),
                running: self.inner.running.clone(),
                queue_time: self.inner.queue_time.with(name),
                processing_time: self.inner.processing_time.with(name),
                failures: self.inner.failures.with(name),
            }),
        };
        self.inner.methods.write().insert(name, method.clone());
        method
    }

    /// Starts measuring a call received at this time, which now waits.
    pub fn call(&self, name: &'static str, received: Instant) -> RpcCall<'static> {
        RpcCall::new(Cow::Owned(self.method(name)), received)
    }

    /// A line per method, the busiest first.
    pub fn summary(&self) -> Vec<MethodSummary> {
        let ms = |d: std::time::Duration| d.as_secs_f64() * 1e3;
        let mut lines: Vec<MethodSummary> = self
            .inner
            .methods
            .read()
            .values()
            .map(|m| &*m.inner)
            .map(|m| MethodSummary {
                method: m.name.to_string(),
                calls: m.processing_time.count(),
                failures: m.failures.get(),
                queue_ms_p99: ms(m.queue_time.quantile(0.99)),
                processing_ms_mean: ms(m.processing_time.mean()),
                processing_ms_p99: ms(m.processing_time.quantile(0.99)),
            })
            .collect();
        lines.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.method.cmp(&b.method)));
        lines
    }
}

impl fmt::Debug for RpcMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RpcMetrics").field("waiting", &self.inner.waiting.get()).finish()
    }
}

impl RpcMethod {
    /// Starts measuring a call received at this time, which now waits.
    pub fn call(&self, received: Instant) -> RpcCall<'_> {
        RpcCall::new(Cow::Borrowed(self), received)
    }

    /// As [`call`](Self::call), for a call that is stored elsewhere.
    pub fn owned_call(&self, received: Instant) -> RpcCall<'static> {
        RpcCall::new(Cow::Owned(self.clone()), received)
    }
}

impl<'a> RpcCall<'a> {
    fn new(method: Cow<'a, RpcMethod>, received: Instant) -> Self {
        method.inner.waiting.inc();
        RpcCall { method, received, started: None, finished: false }
    }

    /// Records that the call leaves the queue.
    pub fn started(&mut self) {
        if self.started.is_none() {
            self.started_at(Instant::now());
        }
    }

    /// Records that the call left the queue at that time; only the first call counts.
    pub fn started_at(&mut self, at: Instant) {
        if self.started.is_none() {
            self.started = Some(at);
            let method = &self.method.inner;
            method.waiting.dec();
            method.running.inc();
            method.queue_time.record(at.saturating_duration_since(self.received));
        }
    }

    /// Records the response.
    pub fn finish(mut self, success: bool) {
        self.end(success, Instant::now());
    }

    /// Records a response at that time.
    pub fn finish_at(mut self, success: bool, at: Instant) {
        self.end(success, at);
    }

    fn end(&mut self, success: bool, at: Instant) {
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        self.started_at(at);
        let method = &self.method.inner;
        method.running.dec();
        if let Some(started) = self.started {
            method.processing_time.record(at.saturating_duration_since(started));
        }
        if !success {
            method.failures.inc();
        }
    }
}

impl Drop for RpcCall<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.end(false, Instant::now());
        }
    }
}
