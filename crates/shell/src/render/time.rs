//! Points in time.

use chrono::{DateTime, SecondsFormat, Utc};

/// Milliseconds since 1970 as ISO 8601 in UTC; whole seconds have no fraction, as in Java.
pub(crate) fn millis(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(DateTime::from_timestamp_millis);
    let form = if ms.is_multiple_of(1_000) { SecondsFormat::Secs } else { SecondsFormat::Millis };
    time.map(|t| t.to_rfc3339_opts(form, true)).unwrap_or_else(|| ms.to_string())
}

/// The present, to the nanosecond.
pub(crate) fn now() -> String {
    Utc::now().to_rfc3339_opts(SecondsFormat::Nanos, true)
}

#[cfg(test)]
mod tests {
    use super::millis;

    #[test]
    fn times_are_iso_8601() {
        assert_eq!(millis(1_795_260_199_531), "2026-11-21T11:23:19.531Z");
        assert_eq!(millis(0), "1970-01-01T00:00:00Z");
        assert_eq!(millis(u64::MAX), u64::MAX.to_string());
    }
}
