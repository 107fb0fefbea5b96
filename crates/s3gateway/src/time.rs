//! Times of the wire (milliseconds since 1970) in the format of S3.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use s3s::dto::Timestamp;

/// Converts to whole seconds: HTTP dates have no fractions, and comparisons must agree with the
/// times shown.
pub(crate) fn timestamp(millis: u64) -> Timestamp {
    Timestamp::from(UNIX_EPOCH + Duration::from_secs(millis / 1000))
}

/// The current time in whole seconds.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from(UNIX_EPOCH + Duration::from_secs(since.as_secs()))
}
