//! One span per request, at the server's endpoint, and the log line of a slow request.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opentelemetry::trace::{SpanContext, TraceContextExt};
use parking_lot::Mutex;
use tracing::{Instrument, Level, Span, field, span, warn};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::record::{CURRENT, Record, millis};
use crate::{TARGET, context};

/// Maximum number of lines about slow requests per second and endpoint: if a disk hangs, all
/// requests are slow. The next line contains the number of omitted ones.
const MAX_LINES_PER_SECOND: u32 = 10;

/// Name of a request before [`name_request`].
const UNNAMED: &str = "request";

/// An endpoint of a role. Cheap to clone.
#[derive(Clone)]
pub struct Edge {
    inner: Arc<Inner>,
}

struct Inner {
    role: &'static str,
    /// Duration from which on a request is slow; zero for none.
    slow: Duration,
    lines: Mutex<Lines>,
}

struct Lines {
    since: Instant,
    written: u32,
    left_out: u64,
}

impl Edge {
    /// An endpoint of `role`, such as `om`. Requests of at least the duration `slow` are logged
    /// with their stages; zero for none.
    pub fn new(role: &'static str, slow: Duration) -> Self {
        let lines = Mutex::new(Lines { since: Instant::now(), written: 0, left_out: 0 });
        Self { inner: Arc::new(Inner { role, slow, lines }) }
    }

    /// Returns `true` if a request of this duration is logged as slow.
    pub fn is_slow(&self, took: Duration) -> bool {
        !self.inner.slow.is_zero() && took >= self.inner.slow
    }

    /// A request that was received at `received`, with its `trace_id` in Ozone's form.
    pub fn request(
        &self,
        operation: &'static str,
        trace_id: Option<&str>,
        received: Instant,
    ) -> RequestSpan {
        self.open(operation, received, || trace_id.and_then(context::import))
    }

    /// An HTTP request; `traceparent` is the header of that name. Its operation is set by
    /// [`name_request`].
    pub fn http_request(&self, traceparent: Option<&str>, received: Instant) -> RequestSpan {
        self.open(UNNAMED, received, || traceparent.and_then(context::import_header))
    }

    fn open(
        &self,
        operation: &'static str,
        received: Instant,
        parent: impl FnOnce() -> Option<SpanContext>,
    ) -> RequestSpan {
        let span = span!(
            target: TARGET,
            parent: None,
            Level::TRACE,
            "request",
            otel.name = operation,
            otel.kind = "server",
            role = self.inner.role,
            slow = field::Empty,
        );
        if !span.is_disabled() {
            context::set_parent(&span, parent());
        }
        let watched = (!self.inner.slow.is_zero()).then(|| Watched {
            inner: Arc::clone(&self.inner),
            operation,
            record: Record::new(received),
            done: false,
        });
        RequestSpan { watched, span, ended: None }
    }
}

impl Inner {
    /// Returns the number of lines omitted since the last one if a line may be written now.
    fn permit_line(&self) -> Option<u64> {
        let mut lines = self.lines.lock();
        if lines.since.elapsed() >= Duration::from_secs(1) {
            lines.since = Instant::now();
            lines.written = 0;
        }
        if lines.written >= MAX_LINES_PER_SECOND {
            lines.left_out += 1;
            return None;
        }
        lines.written += 1;
        Some(std::mem::take(&mut lines.left_out))
    }
}

/// A request, from its receipt until this is dropped.
pub struct RequestSpan {
    watched: Option<Watched>,
    span: Span,
    ended: Option<Instant>,
}

impl RequestSpan {
    /// Processes the request, or a part of it. A slow one is logged even if it is dropped before
    /// its end. The work is pinned by the caller: futures of requests are large, and moving one
    /// costs more than everything done here.
    pub async fn run<T>(&mut self, work: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> T {
        let Some(watched) = &mut self.watched else {
            return work.instrument(self.span.clone()).await;
        };
        watched.done = false;
        let work = CURRENT.scope(Arc::clone(&watched.record), work);
        let output = work.instrument(self.span.clone()).await;
        watched.done = true;
        output
    }

    /// Ends the request at that time, rather than when this is dropped.
    pub fn end_at(&mut self, at: Instant) {
        self.ended = Some(at);
    }

    /// The same request, never logged as slow: its duration depends on the client.
    pub fn unwatched(self) -> Self {
        let mut this = self;
        this.watched = None;
        this
    }
}

impl Drop for RequestSpan {
    fn drop(&mut self) {
        let Some(watched) = &self.watched else { return };
        let took = match self.ended {
            Some(at) => watched.record.until(at),
            None => watched.record.elapsed(),
        };
        if took >= watched.inner.slow {
            self.span.record("slow", true);
            watched.report(took, self.span.in_scope(context::current_trace_id));
        }
    }
}

/// Data of a request for the log line of a slow one.
struct Watched {
    inner: Arc<Inner>,
    operation: &'static str,
    record: Arc<Record>,
    done: bool,
}

impl Watched {
    fn report(&self, took: Duration, trace: Option<String>) {
        let Some(left_out) = self.inner.permit_line() else { return };
        let operation = self.record.operation().unwrap_or(self.operation);
        let (role, record) = (self.inner.role, &self.record);
        warn!(
            target: "slow_request",
            role,
            operation,
            took = %format_args!("{:.1}ms", millis(took)),
            answered = self.done,
            stages = %record,
            breakdown = record.breakdown(),
            trace,
            left_out = (left_out > 0).then_some(left_out),
            "slow request"
        );
    }
}

/// Sets the operation of the current task's request, if its endpoint could not.
pub fn name_request(operation: &'static str) {
    let _ = CURRENT.try_with(|record| record.name(operation));
    if crate::is_exporting() {
        // Recording the field `otel.name` has no effect once a span was entered.
        Span::current().context().span().update_name(operation);
    }
}

/// Records the breakdown of the current task's request, for the log line of a slow one
/// ([`Edge::is_slow`]).
pub fn break_down(breakdown: impl FnOnce() -> String) {
    let _ = CURRENT.try_with(|record| record.break_down(breakdown()));
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::pin::pin;

    use super::*;
    use crate::{stage, stage_sync, wait};

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the log lines written while `work` runs.
    fn log_of(work: impl Future<Output = ()>) -> String {
        let log = Log::default();
        let writer = log.clone();
        let lines = tracing_subscriber::fmt()
            .with_ansi(false)
            .without_time()
            .with_writer(move || writer.clone())
            .finish();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        tracing::subscriber::with_default(lines, || runtime.block_on(work));
        let bytes = log.0.lock().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_slow_request_tells_its_stages_and_a_quick_one_nothing() {
        let text = log_of(async {
            for threshold in [Duration::from_nanos(1), Duration::from_secs(3600), Duration::ZERO] {
                let edge = Edge::new("om", threshold);
                let mut request = edge.request("CommitKey", None, Instant::now());
                let work = async {
                    stage_sync("prepare", || ());
                    wait("admission", std::future::ready(())).await;
                    stage("replicate", tokio::task::yield_now()).await;
                    break_down(|| "apply 1.0ms".to_owned());
                };
                request.run(pin!(work)).await;
            }
        });
        assert_eq!(text.lines().count(), 1, "{text}");
        let parts =
            ["slow_request: slow request", "role=\"om\"", "operation=\"CommitKey\"", "took="];
        for part in parts.into_iter().chain([
            "answered=true",
            "stages=prepare 0.",
            ", replicate ",
            "breakdown=\"apply 1.0ms\"",
        ]) {
            assert!(text.contains(part), "no {part} in {text}");
        }
        assert!(!text.contains("admission"), "it did not wait: {text}");
    }

    #[test]
    fn a_request_that_is_given_up_says_what_it_waited_for() {
        let text = log_of(async {
            let edge = Edge::new("s3g", Duration::from_nanos(1));
            let mut request = edge.http_request(Some("garbage"), Instant::now());
            let work = pin!(async {
                name_request("PutObject");
                stage("call om", std::future::pending::<()>()).await;
            });
            let given_up = tokio::select! {
                biased;
                () = request.run(work) => false,
                () = std::future::ready(()) => true,
            };
            assert!(given_up);
        });
        for part in ["operation=\"PutObject\"", "answered=false", "stages=call om ", "(not done)"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }

    #[test]
    fn a_request_that_says_when_it_ended_is_as_slow_as_that() {
        let ago = |ms| Instant::now().checked_sub(Duration::from_millis(ms)).unwrap();
        let text = log_of(async {
            let edge = Edge::new("om", Duration::from_secs(10));
            let received = ago(30_000);
            let mut quick = edge.request("LookupKey", None, received);
            quick.end_at(received + Duration::from_secs(9));
            let mut slow = edge.request("CommitKey", None, received);
            slow.end_at(received + Duration::from_secs(11));
        });
        assert!(text.contains("CommitKey") && text.contains("took=11000.0ms"), "{text}");
        assert!(!text.contains("LookupKey"), "{text}");
    }

    #[test]
    fn lines_are_few_and_those_left_out_are_counted() {
        let edge = Edge::new("om", Duration::from_nanos(1));
        let text = log_of(async {
            for _ in 0..MAX_LINES_PER_SECOND + 5 {
                drop(edge.request("CommitKey", None, Instant::now()));
            }
            let earlier = Instant::now().checked_sub(Duration::from_secs(2)).unwrap();
            edge.inner.lines.lock().since = earlier;
            drop(edge.request("CommitKey", None, Instant::now()));
        });
        assert_eq!(text.lines().count(), MAX_LINES_PER_SECOND as usize + 1, "{text}");
        assert!(text.lines().last().unwrap().contains("left_out=5"), "{text}");
    }
}
