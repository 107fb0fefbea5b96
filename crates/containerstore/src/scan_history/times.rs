//! Times of a replica's scans.
//!
//! The time of the last full read is a row of the table of sums, written without the database's
//! log: it becomes durable with the next flush. A crash costs at most that some replicas are read
//! again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Times of a replica's scans, in milliseconds since 1970; 0 for never.
#[derive(Debug, Default)]
pub struct ScanTimes {
    data: AtomicU64,
    metadata: AtomicU64,
    /// Start of the last scan, whatever its result.
    tried: AtomicU64,
}

impl ScanTimes {
    /// Returns the time of the last full read of the replica.
    pub fn data(&self) -> Option<SystemTime> {
        to_time(self.data.load(Ordering::Relaxed))
    }

    /// Returns the time of the last metadata scan of the replica, since the start.
    pub fn metadata(&self) -> Option<SystemTime> {
        to_time(self.metadata.load(Ordering::Relaxed))
    }

    /// Returns the start of the last scan, since the start.
    pub(crate) fn tried(&self) -> Option<SystemTime> {
        to_time(self.tried.load(Ordering::Relaxed))
    }

    /// Takes the time of the last full read from its row, or for it.
    pub(crate) fn set_data(&self, millis: u64) {
        self.data.store(millis, Ordering::Relaxed);
    }

    pub(crate) fn set_metadata(&self, millis: u64) {
        self.metadata.store(millis, Ordering::Relaxed);
    }

    pub(crate) fn note_try(&self, now: SystemTime) {
        self.tried.store(to_millis(now), Ordering::Relaxed);
    }
}

/// Returns a row's form of a time: milliseconds since 1970.
pub(crate) fn to_millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn to_time(millis: u64) -> Option<SystemTime> {
    let since = Duration::from_millis(millis);
    (millis > 0).then(|| UNIX_EPOCH.checked_add(since)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_milliseconds_are_no_time() {
        let at = UNIX_EPOCH + Duration::from_secs(7);
        assert_eq!(to_time(to_millis(at)), Some(at));
        assert_eq!(to_time(0), None);
    }
}
