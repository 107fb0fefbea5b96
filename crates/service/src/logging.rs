//! Structured logs on stderr: text for people, JSON for machines.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::util::SubscriberInitExt;

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
    /// Somebody else has set up logging in this process.
    #[error("logging is already set up")]
    AlreadySet,
}

/// Sets up logging for the whole process. `RUST_LOG` overrides the filter.
pub fn init(filter: &str, format: Format) -> Result<(), LoggingError> {
    let filter = std::env::var("RUST_LOG")
        .ok()
        .filter(|f| !f.is_empty())
        .unwrap_or_else(|| filter.to_string());
    let parsed = EnvFilter::try_new(&filter)
        .map_err(|e| LoggingError::Filter { filter: filter.clone(), reason: e.to_string() })?;
    let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(parsed)
        .with_writer(std::io::stderr)
        .with_span_events(FmtSpan::NONE)
        .with_ansi(terminal && format == Format::Text);
    let set = match format {
        Format::Text => builder.finish().try_init(),
        Format::Json => builder.json().flatten_event(true).finish().try_init(),
    };
    set.map_err(|_| LoggingError::AlreadySet)
}
