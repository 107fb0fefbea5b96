//! Spans: the parts of a request and their durations, across processes.
//!
//! * [`Edge`]: an endpoint of a role; one span per request, and a log line with the stages of a
//!   slow request
//! * [`stage`], [`wait`]: a part of a request
//! * [`root`]: one run of a background service, one command of a client
//! * [`import`], [`current_trace_id`], [`import_header`]: trace ids on the wire, in Ozone's form
//! * [`TracingSettings`], [`Exporter`]: export to an OpenTelemetry collector
//!
//! The same calls serve two purposes. **Stages** of requests in progress are always recorded, in a
//! record of the request that is dropped at its end, unless the request was slow ([`Edge`]). That
//! costs two readings of the clock per stage. **Spans** (`tracing` spans of target [`TARGET`]) are
//! created only while they are exported: without `ozone.tracing.enabled` a span's call site is one
//! load of a static, and no thread is started.

mod context;
mod edge;
mod export;
mod record;
mod root;
mod sampling;
mod settings;
mod stage;

pub use context::{MAX_TRACE_ID, current_trace_id, import, import_header};
pub use edge::{Edge, RequestSpan, break_down, name_request};
pub use export::{ExportError, ExportLayer, Exporter};
pub use root::root;
pub use settings::{SettingsError, TracingSettings};
pub use stage::{Stage, stage, stage_sync, stage_under, wait};

/// The target of all spans. Their level is TRACE, so that a log filter such as `info` excludes
/// them.
pub const TARGET: &str = "span";

/// Returns `true` if spans are created.
pub fn is_exporting() -> bool {
    tracing::span_enabled!(target: TARGET, tracing::Level::TRACE)
}
