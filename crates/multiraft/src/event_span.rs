//! Spans of events of a group as a whole: elections, changes of members, snapshots; none for single
//! entries.

/// A span that starts a trace of its own; one dropped at once marks an event. Created only while
/// spans are exported: target and level are those of `telemetry`.
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
