//! Ids that the leader gives to open sessions of keys and uploads, and ids that are made of names.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use md5::{Digest, Md5};
use uuid::Uuid;

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}

/// Numbers that never come twice, as Ozone makes them: milliseconds above sixteen bits of
/// counting. A clock that is set back, or more than 65,536 in a millisecond, only makes it count
/// ahead of the clock.
#[derive(Debug, Default)]
pub(crate) struct UniqueIds(AtomicU64);

impl UniqueIds {
    /// The next one.
    pub(crate) fn next(&self, now_ms: u64) -> u64 {
        let floor = (now_ms << 16) & (u64::MAX >> 1);
        let mut last = self.0.load(Ordering::Relaxed);
        loop {
            let next = floor.max(last + 1);
            match self.0.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return next,
                Err(now) => last = now,
            }
        }
    }
}

/// The UUID that Java's `UUID.nameUUIDFromBytes` gives a name: version 3 without a namespace.
/// Raft groups and nodes of OM have it as their id.
pub(crate) fn name_uuid(name: &str) -> Uuid {
    let digest: [u8; 16] = Md5::digest(name.as_bytes()).into();
    uuid::Builder::from_md5_bytes(digest).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_even_when_the_clock_does_not() {
        let ids = UniqueIds::default();
        let first = ids.next(1_000);
        assert_eq!(first, 1_000 << 16);
        assert_eq!(ids.next(1_000), first + 1);
        assert_eq!(ids.next(10), first + 2);
        assert_eq!(ids.next(2_000), 2_000 << 16);
    }

    #[test]
    fn the_group_of_the_default_service_is_ozones() {
        let id = name_uuid("omServiceIdDefault").to_string();
        assert_eq!(id, "bf265839-605b-3f16-9796-c5ba1605619e");
    }
}
