//! Structured logs on stderr: text for people, JSON for machines; and the export of spans.

use telemetry::Exporter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// One readable line, coloured on a terminal.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter is not one.
    #[error("log filter '{filter}' is malformed: {reason}")]
    Filter {
        /// As it was given.
        filter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Logging was set up in this process already.
    #[error("logging is already set up")]
    AlreadySet,
}

/// Sets up logging for the whole process, and hands spans to `exporter`. `RUST_LOG` overrides the
/// filter.
///
/// # Errors
/// When the filter is malformed, or logging is set up already.
pub fn init(filter: &str, format: Format, exporter: Option<&Exporter>) -> Result<(), LoggingError> {
    let filter = std::env::var("RUST_LOG")
        .ok()
        .filter(|f| !f.is_empty())
        .unwrap_or_else(|| filter.to_string());
    let parsed = EnvFilter::try_new(&filter)
        .map_err(|e| LoggingError::Filter { filter: filter.clone(), reason: e.to_string() })?;
    let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_span_events(FmtSpan::NONE)
        .with_ansi(terminal && format == Format::Text);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        Format::Text => Box::new(lines),
        Format::Json => Box::new(lines.json().flatten_event(true)),
    };
    let set = match exporter {
        // A filter for all costs less than one for each layer.
        None => Registry::default().with(lines).with(parsed).try_init(),
        Some(exporter) => {
            let lines = lines.with_filter(parsed);
            Registry::default().with(lines).with(exporter.layer()).try_init()
        }
    };
    set.map_err(|_| LoggingError::AlreadySet)
}
