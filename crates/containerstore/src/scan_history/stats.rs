//! Results of the scans of a disk since the start.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use parking_lot::Mutex;
use types::ContainerId;

use super::ScanKind;

/// The scans of a disk.
#[derive(Debug, Default)]
pub struct DiskScans {
    kinds: [Counters; ScanKind::ALL.len()],
    /// Reads of scans that the disk has in its queue.
    queued: AtomicU64,
    last_damage: Mutex<Option<FoundDamage>>,
}

#[derive(Debug, Default)]
struct Counters {
    containers: AtomicU64,
    bytes: AtomicU64,
    damaged: AtomicU64,
}

/// Results of one kind of scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanStats {
    /// Scanned replicas.
    pub containers: u64,
    /// Bytes of blocks that were read.
    pub bytes: u64,
    /// Replicas that were damaged.
    pub damaged: u64,
}

/// Damage that a scan found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundDamage {
    /// The container.
    pub container: ContainerId,
    /// Kind of the scan that found it.
    pub kind: ScanKind,
    /// Start of that scan.
    pub at: SystemTime,
    /// The damage.
    pub reason: String,
}

impl DiskScans {
    /// Returns the results of one kind of scan.
    pub fn of(&self, kind: ScanKind) -> ScanStats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.kinds[kind as usize];
        ScanStats {
            containers: load(&counters.containers),
            bytes: load(&counters.bytes),
            damaged: load(&counters.damaged),
        }
    }

    /// The damage that was found last.
    pub fn last_damage(&self) -> Option<FoundDamage> {
        self.last_damage.lock().clone()
    }

    /// Returns `true` if others than scans wait for the disk.
    pub fn others_wait(&self, io: &blockio::Disk) -> bool {
        io.metrics().queued() > self.queued.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self, kind: ScanKind, damaged: bool) {
        let counters = &self.kinds[kind as usize];
        counters.containers.fetch_add(1, Ordering::Relaxed);
        counters.damaged.fetch_add(u64::from(damaged), Ordering::Relaxed);
    }

    pub(crate) fn count_bytes(&self, kind: ScanKind, bytes: u64) {
        self.kinds[kind as usize].bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn note_damage(&self, damage: FoundDamage) {
        *self.last_damage.lock() = Some(damage);
    }

    /// Counts a read of a scan until the returned guard is dropped.
    pub(crate) fn reading(&self) -> Reading<'_> {
        self.queued.fetch_add(1, Ordering::Relaxed);
        Reading { scans: self }
    }
}

/// A read of a scan.
pub(crate) struct Reading<'a> {
    scans: &'a DiskScans,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.scans.queued.fetch_sub(1, Ordering::Relaxed);
    }
}
