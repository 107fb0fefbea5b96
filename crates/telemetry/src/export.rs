//! Export over OTLP to a collector: bounded, and never delaying a request.
//!
//! Ended spans wait in a queue of [`MAX_QUEUE`] for the SDK's thread, which sends them in batches.
//! Excess ones are dropped, which the SDK logs. If a collector does not accept spans, their batches
//! are lost, with one warning per minute.

use std::sync::Arc;
use std::time::{Duration, Instant};

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::WithExportConfig;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, SpanData, SpanExporter, SpanLimits,
};
use opentelemetry_sdk::{Resource, trace::Tracer};
use parking_lot::Mutex;
use tracing::{Subscriber, warn};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{Filtered, LevelFilter, Targets};
use tracing_subscriber::registry::LookupSpan;

use crate::sampling::Sampling;
use crate::{TARGET, TracingSettings};

/// Maximum number of queued spans: about 4 MiB.
const MAX_QUEUE: usize = 8_192;
/// Maximum number of spans per message to the collector.
const MAX_BATCH: usize = 512;
/// Delay for batching spans.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// Timeout of a message to the collector.
const SEND_TIMEOUT: Duration = Duration::from_secs(3);
/// Timeout for the last spans at the end of a process.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval of warnings about a collector that does not accept spans.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum number of attributes per span; our own have fewer.
const MAX_ATTRIBUTES: u32 = 16;

/// The export could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("cannot export spans to {endpoint}: {source}")]
pub struct ExportError {
    endpoint: String,
    source: opentelemetry_otlp::ExporterBuildError,
}

/// The part of the `tracing` subscriber that exports spans.
pub type ExportLayer<S> = Filtered<OpenTelemetryLayer<S, Tracer>, Targets, S>;

/// The export of a process's spans.
#[derive(Debug)]
pub struct Exporter {
    provider: SdkTracerProvider,
    tracer: Tracer,
}

impl Exporter {
    /// Starts the export for a process named `service`. The collector need not be running yet.
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// If the endpoint is invalid.
    pub fn start(settings: &TracingSettings, service: &str) -> Result<Self, ExportError> {
        let endpoint = &settings.endpoint;
        let sender = opentelemetry_otlp::SpanExporter::builder()
            .with_tonic()
            .with_endpoint(endpoint)
            .with_timeout(SEND_TIMEOUT)
            .build()
            .map_err(|source| ExportError { endpoint: endpoint.clone(), source })?;
        let reporting = Reporting::new(sender, endpoint.clone());
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_QUEUE)
            .with_max_export_batch_size(MAX_BATCH)
            .with_scheduled_delay(BATCH_DELAY)
            .build();
        let processor = BatchSpanProcessor::builder(reporting).with_batch_config(batches).build();
        Ok(Self::with_processor(processor, settings, service))
    }

    fn with_processor(
        processor: BatchSpanProcessor,
        settings: &TracingSettings,
        service: &str,
    ) -> Self {
        let resource = Resource::builder_empty()
            .with_attributes([
                KeyValue::new("service.name", service.to_owned()),
                KeyValue::new("process.pid", i64::from(std::process::id())),
            ])
            .build();
        let limits = SpanLimits { max_attributes_per_span: MAX_ATTRIBUTES, ..Default::default() };
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_sampler(Sampling::new(settings.ratio, settings.rates.clone()))
            .with_span_limits(limits)
            .with_resource(resource)
            .build();
        let tracer = provider.tracer("trioxide");
        Self { provider, tracer }
    }

    /// The layer that receives the spans, but no log events.
    pub fn layer<S>(&self) -> ExportLayer<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.tracer.clone())
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(Targets::new().with_target(TARGET, LevelFilter::TRACE))
    }

    /// Sends the remaining spans, within a timeout of some seconds, and ends the export. Blocks:
    /// must not be called where a runtime polls.
    pub fn shutdown(self) {
        // A warning about undelivered spans was logged already.
        let _ = self.provider.shutdown_with_timeout(SHUTDOWN_TIMEOUT);
    }
}

/// Logs lost spans at intervals.
#[derive(Debug)]
struct Reporting<E> {
    sender: E,
    endpoint: String,
    lost: Arc<Mutex<Lost>>,
}

#[derive(Debug, Default)]
struct Lost {
    spans: u64,
    warned: Option<Instant>,
}

impl Lost {
    /// The number of spans lost since the last warning, if one is due.
    fn note(&mut self, spans: u64, now: Instant) -> Option<u64> {
        self.spans = self.spans.saturating_add(spans);
        let is_due =
            self.warned.is_none_or(|at| now.saturating_duration_since(at) >= WARNING_INTERVAL);
        is_due.then(|| {
            self.warned = Some(now);
            std::mem::take(&mut self.spans)
        })
    }
}

impl<E> Reporting<E> {
    fn new(sender: E, endpoint: String) -> Self {
        Self { sender, endpoint, lost: Arc::default() }
    }
}

impl<E: SpanExporter> SpanExporter for Reporting<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len() as u64;
        if let Err(error) = self.sender.export(batch).await
            && let Some(spans) = self.lost.lock().note(spans, Instant::now())
        {
            let endpoint = &self.endpoint;
            warn!(endpoint, spans, %error, "dropping spans: the collector does not accept them");
        }
        // Otherwise the SDK would log every batch.
        Ok(())
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.sender.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.sender.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.sender.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_spans_are_told_of_once_a_minute() {
        let (mut lost, start) = (Lost::default(), Instant::now());
        assert_eq!(lost.note(3, start), Some(3));
        assert_eq!(lost.note(4, start + Duration::from_secs(59)), None);
        assert_eq!(lost.note(5, start + Duration::from_secs(60)), Some(9));
        assert_eq!(lost.note(1, start + Duration::from_secs(61)), None);
    }
}
