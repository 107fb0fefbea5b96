//! Forwards the Raft library's log lines (slog) to tracing.

use slog::{Drain, Level, Logger, OwnedKVList, Record};

struct ToTracing;

impl Drain for ToTracing {
    type Ok = ();
    type Err = slog::Never;

    fn log(&self, record: &Record<'_>, _values: &OwnedKVList) -> Result<(), slog::Never> {
        // The library logs every election step at info; we log it at debug.
        match record.level() {
            Level::Critical | Level::Error => tracing::error!("{}", record.msg()),
            Level::Warning | Level::Info => tracing::debug!("{}", record.msg()),
            Level::Debug | Level::Trace => {}
        }
        Ok(())
    }

    fn is_enabled(&self, level: Level) -> bool {
        match level {
            Level::Critical | Level::Error => true,
            Level::Warning | Level::Info => tracing::enabled!(tracing::Level::DEBUG),
            Level::Debug | Level::Trace => false,
        }
    }
}

/// The library's logger for a group.
pub(super) fn logger(group: &uuid::Uuid) -> Logger {
    Logger::root(ToTracing, slog::o!("group" => group.to_string()))
}
