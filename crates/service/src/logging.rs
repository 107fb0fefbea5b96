//! Structured logs on stderr: text for people, JSON for machines; and the export of spans.

use std::sync::OnceLock;

use parking_lot::Mutex;
use telemetry::Exporter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// One readable line, coloured on a terminal.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Errors of setting up logging, or of changing a level.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter is malformed.
    #[error("log filter '{filter}' is malformed: {reason}")]
    Filter {
        /// The given filter.
        filter: String,
        /// The reason.
        reason: String,
    },
    /// Logging was set up in this process already.
    #[error("logging is already set up")]
    AlreadySet,
    /// There is no such level.
    #[error("{0} is not one of TRACE, DEBUG, INFO, WARN, ERROR, OFF")]
    Level(String),
    /// The name of a module contains invalid characters.
    #[error("{0} is not the name of a module of this process")]
    Target(String),
    /// Logging was not set up in this process.
    #[error("logging is not set up")]
    NotSet,
}

/// The filter of this process, which can be changed at run time.
struct Filter {
    apply: Box<dyn Fn(EnvFilter) -> bool + Send + Sync>,
    /// The configured directives and later changes: the last one for a name counts.
    directives: Mutex<String>,
}

static FILTER: OnceLock<Filter> = OnceLock::new();

/// Sets up logging for the whole process, and passes spans to `exporter`. `RUST_LOG` overrides the
/// filter.
///
/// # Errors
/// If the filter is malformed, or logging is set up already.
pub fn init(filter: &str, format: Format, exporter: Option<&Exporter>) -> Result<(), LoggingError> {
    let filter = std::env::var("RUST_LOG")
        .ok()
        .filter(|f| !f.is_empty())
        .unwrap_or_else(|| filter.to_string());
    let parsed = parse(&filter)?;
    let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_span_events(FmtSpan::NONE)
        .with_ansi(terminal && format == Format::Text);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        Format::Text => Box::new(lines),
        Format::Json => Box::new(lines.json().flatten_event(true)),
    };
    let (set, apply): (_, Box<dyn Fn(EnvFilter) -> bool + Send + Sync>) = match exporter {
        // One filter for all layers costs less than one per layer.
        None => {
            let (parsed, handle) = reload::Layer::new(parsed);
            let set = Registry::default().with(lines).with(parsed).try_init();
            (set, Box::new(move |filter| handle.reload(filter).is_ok()))
        }
        Some(exporter) => {
            let (parsed, handle) = reload::Layer::new(parsed);
            let lines = lines.with_filter(parsed);
            let set = Registry::default().with(lines).with(exporter.layer()).try_init();
            (set, Box::new(move |filter| handle.reload(filter).is_ok()))
        }
    };
    set.map_err(|_| LoggingError::AlreadySet)?;
    // Set once, as logging is.
    let _ = FILTER.set(Filter { apply, directives: Mutex::new(filter) });
    Ok(())
}

fn parse(filter: &str) -> Result<EnvFilter, LoggingError> {
    EnvFilter::try_new(filter)
        .map_err(|e| LoggingError::Filter { filter: filter.to_owned(), reason: e.to_string() })
}

/// Prefixes of Ozone's class names, and the modules that correspond to them; the first match
/// counts.
const CLASSES: [(&str, &str); 8] = [
    ("org.apache.hadoop.ozone.om", "om"),
    ("org.apache.hadoop.hdds.scm", "scm"),
    ("org.apache.hadoop.ozone.container", "datanode"),
    ("org.apache.hadoop.ozone.HddsDatanodeService", "datanode"),
    ("org.apache.hadoop.ozone.s3", "s3gateway"),
    ("org.apache.ratis", "multiraft"),
    ("org.apache.hadoop.ipc", "hadoop_rpc"),
    ("org.apache.hadoop", ""),
];

/// The module that a name stands for: one of ours (`om`, `om::dispatch`), or the counterpart of an
/// Ozone class. Empty for names without a level of their own.
pub fn target_of(name: &str) -> String {
    let class = CLASSES.iter().find(|(class, _)| name.starts_with(class));
    match class {
        Some((_, target)) => (*target).to_owned(),
        None if name.eq_ignore_ascii_case("root") => String::new(),
        None => name.to_owned(),
    }
}

/// The level of a module, as far as whole modules have one.
pub fn level(target: &str) -> String {
    let Some(filter) = FILTER.get() else { return "OFF".to_owned() };
    level_in(&filter.directives.lock(), target)
}

fn level_in(directives: &str, target: &str) -> String {
    let mut best = (0, "ERROR".to_owned());
    for directive in directives.split(',').map(str::trim) {
        let (name, level) = match directive.split_once('=') {
            Some((name, level)) => (name, level),
            None if directive.parse::<LevelFilter>().is_ok() => ("", directive),
            // A bare name enables every level.
            None => (directive, "TRACE"),
        };
        let inside = target.strip_prefix(name);
        let meant =
            inside.is_some_and(|rest| name.is_empty() || rest.is_empty() || rest.starts_with("::"));
        if meant && name.len() >= best.0 && !name.contains(['[', '{']) {
            best = (name.len(), level.to_ascii_uppercase());
        }
    }
    best.1
}

/// Sets the level of a module until the process ends.
///
/// # Errors
/// If the level or the name is invalid, or logging is not set up.
pub fn set_level(target: &str, level: &str) -> Result<(), LoggingError> {
    let known = match level.to_ascii_uppercase().as_str() {
        "ALL" => "trace",
        "FATAL" => "error",
        "TRACE" => "trace",
        "DEBUG" => "debug",
        "INFO" => "info",
        "WARN" | "WARNING" => "warn",
        "ERROR" => "error",
        "OFF" => "off",
        _ => return Err(LoggingError::Level(level.to_owned())),
    };
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '-');
    if target.len() > 200 || !target.chars().all(letters) {
        return Err(LoggingError::Target(target.to_owned()));
    }
    let filter = FILTER.get().ok_or(LoggingError::NotSet)?;
    let mut directives = filter.directives.lock();
    let changed = with(&directives, target, known);
    if !(filter.apply)(parse(&changed)?) {
        return Err(LoggingError::NotSet);
    }
    *directives = changed;
    tracing::info!(target, level = known, "log level changed");
    Ok(())
}

/// The directives with the one for `target` replaced.
fn with(directives: &str, target: &str, level: &str) -> String {
    let others = directives.split(',').map(str::trim).filter(|directive| {
        let of = match directive.split_once('=') {
            Some((name, _)) => name,
            None if directive.parse::<LevelFilter>().is_ok() => "",
            None => directive,
        };
        !directive.is_empty() && of != target
    });
    let mut changed: Vec<&str> = others.collect();
    let own = if target.is_empty() { level.to_owned() } else { format!("{target}={level}") };
    changed.push(&own);
    changed.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_decides() {
        let filter = "info,raft_engine=warn,om=debug,om::dispatch=off,s3s";
        for (target, expected) in [
            ("", "INFO"),
            ("scm", "INFO"),
            ("raft_engine", "WARN"),
            ("om", "DEBUG"),
            ("om::state", "DEBUG"),
            ("om::dispatch::read", "OFF"),
            ("omx", "INFO"),
            ("s3s", "TRACE"),
        ] {
            assert_eq!(level_in(filter, target), expected, "{target}");
        }
    }

    #[test]
    fn a_level_replaces_the_one_before() {
        let changed = with("info,om=debug", "om", "warn");
        assert_eq!(changed, "info,om=warn");
        assert_eq!(with(&changed, "scm", "trace"), "info,om=warn,scm=trace");
        assert_eq!(with(&changed, "", "error"), "om=warn,error");
        for filter in [changed.as_str(), "om=warn,error"] {
            assert!(parse(filter).is_ok(), "{filter}");
        }
    }

    #[test]
    fn names_of_classes_mean_our_parts() {
        assert_eq!(target_of("org.apache.hadoop.ozone.om.OzoneManager"), "om");
        assert_eq!(target_of("org.apache.hadoop.hdds.scm.node"), "scm");
        assert_eq!(target_of("org.apache.hadoop.ozone"), "");
        assert_eq!(target_of("om::dispatch"), "om::dispatch");
        assert_eq!(target_of("root"), "");
    }
}
