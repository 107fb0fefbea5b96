//! Delays and timeouts of retries of reads.

use std::time::Duration;

use crate::{ClientOptions, ErrorKind};

/// First pause before locations are looked up again; later pauses grow up to
/// [`crate::ClientOptions::read_retry_interval`].
pub(super) const REFRESH_DELAY: Duration = Duration::from_millis(50);

/// Time for which unreachable replicas, and those that have not caught up with acknowledged
/// entries, are retried: after a restart a pipeline needs a leader before its last entries are
/// committed.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for which a read is retried that failed in this way on every replica.
pub(super) fn retry_timeout(kind: ErrorKind, options: &ClientOptions) -> Duration {
    match kind {
        ErrorKind::Unavailable | ErrorKind::Timeout => CATCH_UP_TIMEOUT,
        // OM has the key, so the block exists: its replicas may be in transit to other nodes, or on
        // nodes that have not reported to SCM yet.
        ErrorKind::NotFound => options.read_retry_interval.saturating_mul(options.read_retries),
        _ => Duration::ZERO,
    }
}
