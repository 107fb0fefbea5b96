//! Reads that were refused because the disk was late. A reader that comes again within a moment
//! found no better replica: it is waited for then. So no block becomes unreadable because all
//! disks that have it are slow.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lru::LruCache;
use parking_lot::Mutex;
use types::BlockId;

use containerstore::{ReadTimeout, StorageError};

/// Time for which a refusal is remembered. Published clients retry after a second or two.
const REMEMBERED: Duration = Duration::from_secs(30);

/// Refusals that are remembered at most.
const MOST: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4095);

/// A read: the client's address, the block, the offset.
pub(crate) type Wanted = (Option<IpAddr>, BlockId, u64);

/// The refusals of the last moment.
pub(crate) struct LateReads {
    begun: Instant,
    /// Milliseconds from `begun` until which some refusal is remembered.
    until: AtomicU64,
    refused: Mutex<LruCache<Wanted, Instant>>,
}

impl Default for LateReads {
    fn default() -> Self {
        let refused = Mutex::new(LruCache::new(MOST));
        Self { begun: Instant::now(), until: AtomicU64::default(), refused }
    }
}

impl LateReads {
    /// Returns how long this read waits for its disk.
    pub fn timeout(&self, wanted: &Wanted) -> ReadTimeout {
        let now = Instant::now();
        // Without a refusal lately readers meet at no lock.
        if self.millis(now) >= self.until.load(Ordering::Acquire) {
            return ReadTimeout::Limited;
        }
        let refused = self.refused.lock().get(wanted).copied();
        match refused.is_some_and(|at| now.saturating_duration_since(at) < REMEMBERED) {
            true => ReadTimeout::Unlimited,
            false => ReadTimeout::Limited,
        }
    }

    /// Remembers a read that was refused; hands its error on.
    pub fn note(&self, wanted: Wanted, error: StorageError) -> StorageError {
        if error.is_late() {
            let now = Instant::now();
            self.refused.lock().put(wanted, now);
            self.until.fetch_max(self.millis(now + REMEMBERED), Ordering::AcqRel);
        }
        error
    }

    fn millis(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.begun);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use blockio::IoErrorKind;
    use types::{ContainerId, LocalId};

    use super::*;

    fn late(kind: IoErrorKind) -> StorageError {
        let error = blockio::IoError {
            op: "read",
            path: "/a".into(),
            kind,
            reason: "as the test wants it".into(),
        };
        StorageError::Io { container: ContainerId(1), error }
    }

    #[test]
    fn a_reader_that_comes_again_is_waited_for_and_no_other() {
        let reads = LateReads::default();
        let peer = |last| Some(IpAddr::from([127, 0, 0, last]));
        let wanted = (peer(1), BlockId::new(ContainerId(1), LocalId(2)), 0);
        assert_eq!(reads.timeout(&wanted), ReadTimeout::Limited);
        reads.note(wanted, late(IoErrorKind::Device));
        assert_eq!(reads.timeout(&wanted), ReadTimeout::Limited);
        reads.note(wanted, late(IoErrorKind::Late));
        assert_eq!(reads.timeout(&wanted), ReadTimeout::Unlimited);
        for other in [(peer(2), wanted.1, 0), (peer(1), wanted.1, 1)] {
            assert_eq!(reads.timeout(&other), ReadTimeout::Limited);
        }
    }
}
