//! Spans of what happens to a group as a whole: elections, changes of members, snapshots. Nothing
//! of what happens to each entry.

/// A span that begins a trace of its own; one that is dropped at once says that something happened.
/// Made only while spans are exported: their target and level are those of `telemetry`.
macro_rules! event_span {
    ($group:expr, $name:literal $(, $($fields:tt)+)?) => {
        tracing::trace_span!(
            target: "span",
            parent: None,
            "group event",
            otel.name = $name,
            group = %$group
            $(, $($fields)+)?
        )
    };
}
