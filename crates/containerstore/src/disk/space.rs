//! Space of a disk, and choice of the disk for the next container.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use proto::scm_datanode::StorageReportProto;

use types::StorageType;

use super::Disk;
use crate::error::{Result, StorageError};
use crate::options::{ChoosingPolicy, Floor, StorageOptions};

/// Lifetime of a measurement of the file system; writes in between are subtracted.
const FRESH_MS: u64 = 500;

/// With less space than this every write measures: others may be filling the file system, too.
const TIGHT: u64 = 2 << 30;

/// Space of a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Space {
    /// Size of the disk without what is reserved for others.
    pub capacity: u64,
    /// Bytes that may still be used.
    pub available: u64,
    /// Bytes in use on the file system, by others and us.
    pub fs_used: u64,
    /// Bytes reserved for others; those in use already are a part of it.
    pub reserved: u64,
    /// Size of the file system.
    pub fs_capacity: u64,
    /// Free bytes of the file system.
    pub fs_available: u64,
}

/// Estimates a file system's space without a system call at every write.
pub(super) struct Gauge {
    path: PathBuf,
    reserved: u64,
    reserved_share: f64,
    writes: Floor,
    containers: Floor,
    /// Size of the disk without the reserved bytes, at the last measurement.
    capacity: AtomicU64,
    /// Bytes of our containers at the last report, plus later writes; before the first report more
    /// than any disk has, so that nothing counts as others'.
    used: AtomicU64,
    started: Instant,
    looked_at: AtomicU64,
    available: AtomicU64,
}

impl Gauge {
    pub(super) fn new(path: &Path, reserved: u64, options: &StorageOptions) -> Self {
        let gauge = Self {
            path: path.to_owned(),
            reserved,
            reserved_share: options.reserved_share.clamp(0.0, 1.0),
            writes: options.min_free_for_writes,
            containers: options.min_free_for_containers,
            capacity: AtomicU64::new(0),
            used: AtomicU64::new(u64::MAX),
            started: Instant::now(),
            looked_at: AtomicU64::new(0),
            available: AtomicU64::new(0),
        };
        gauge.measure();
        gauge
    }

    /// Bytes below which nothing is written.
    fn floor_of_writes(&self) -> u64 {
        self.writes.of(self.capacity.load(Ordering::Relaxed))
    }

    /// Bytes below which no containers are created: never fewer than for writes.
    fn floor_of_containers(&self) -> u64 {
        self.containers.of(self.capacity.load(Ordering::Relaxed)).max(self.floor_of_writes())
    }

    fn measure(&self) -> Space {
        let Ok(fs) = blockio::file_system_space(&self.path) else { return Space::default() };
        let (fs_capacity, fs_available) = (fs.capacity, fs.available);
        let reserved = self.reserved.max((fs_capacity as f64 * self.reserved_share) as u64);
        let fs_used = fs_capacity.saturating_sub(fs_available);
        let kept_free = kept_free(reserved, fs_used, self.used.load(Ordering::Relaxed));
        let capacity = fs_capacity.saturating_sub(reserved);
        self.capacity.store(capacity, Ordering::Relaxed);
        Space {
            capacity,
            available: fs_available.saturating_sub(kept_free),
            fs_used,
            reserved,
            fs_capacity,
            fs_available,
        }
    }

    /// Takes `bytes` from the available space, unless that leaves too little.
    fn take(&self, bytes: u64) -> bool {
        let now = self.started.elapsed().as_millis() as u64;
        let seen = self.looked_at.load(Ordering::Relaxed);
        let known = self.available.load(Ordering::Relaxed);
        let tight = known < self.floor_of_writes().saturating_add(TIGHT);
        if tight || now.saturating_sub(seen) > FRESH_MS {
            self.looked_at.store(now, Ordering::Relaxed);
            self.available.store(self.measure().available, Ordering::Relaxed);
        }
        let available = self.available.load(Ordering::Relaxed);
        if available < self.floor_of_writes().saturating_add(bytes) {
            return false;
        }
        self.available.fetch_sub(bytes.min(available), Ordering::Relaxed);
        // Until the next report, however long SCM is away, this is not others' use.
        let more = |used: u64| Some(used.saturating_add(bytes));
        let _ = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        true
    }
}

/// Returns the part of the reserved bytes that must stay free: others use a part of it already.
fn kept_free(reserved: u64, fs_used: u64, ours: u64) -> u64 {
    reserved.saturating_sub(fs_used.saturating_sub(ours))
}

impl Disk {
    /// Returns the present space of the disk.
    pub fn space(&self) -> Space {
        self.space.measure()
    }

    /// Checks that `bytes` more may be written.
    pub(crate) fn check_room(&self, bytes: u64) -> Result<()> {
        self.check()?;
        if self.space.take(bytes) {
            return Ok(());
        }
        let space = self.space();
        Err(StorageError::OutOfSpace(format!(
            "disk {} has {} bytes available, of which {} must stay free",
            self.id,
            space.available,
            self.space.floor_of_writes()
        )))
    }

    /// Returns `true` if a container of `bytes` more fits, and leaves the reserved bytes free.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.space().available >= self.min_free().saturating_add(bytes)
    }

    /// Bytes that new containers must leave free of those that are available.
    pub fn min_free(&self) -> u64 {
        self.space.floor_of_containers()
    }

    /// Returns the disk's report to SCM; `used` is the size of our containers, `committed` the
    /// bytes that open ones may still take.
    pub(crate) fn storage_report(&self, used: u64, committed: u64) -> StorageReportProto {
        self.space.used.store(used, Ordering::Relaxed);
        let failed = self.failure().is_some();
        let space = if failed { Space::default() } else { self.space() };
        StorageReportProto {
            storage_uuid: self.id.clone(),
            storage_location: self.root.display().to_string(),
            capacity: Some(space.capacity),
            scm_used: Some(used),
            remaining: Some(space.available),
            storage_type: Some(self.storage_type().to_wire() as i32),
            failed: Some(failed || space.fs_capacity == 0),
            committed: Some(committed),
            free_space_to_spare: Some(self.min_free()),
            reserved: Some(space.reserved),
            fs_capacity: Some(space.fs_capacity),
            fs_available: Some(space.fs_available),
        }
    }
}

/// Returns the storage types of disks for a replica that belongs on one of that type, the best
/// first; all types if it is unknown.
pub(crate) fn types_for(wanted: Option<StorageType>) -> [StorageType; 3] {
    let Some(wanted) = wanted else { return StorageType::ANY };
    let [second, third] = wanted.instead();
    [wanted, second, third]
}

/// Returns the disk for the next container of `needed` bytes: one of the first of these types that
/// has space and `may` take it. `next` rotates over calls.
pub(crate) fn choose(
    disks: &[Arc<Disk>],
    types: &[StorageType],
    policy: ChoosingPolicy,
    needed: u64,
    next: &AtomicUsize,
    may: impl Fn(&Disk) -> bool,
) -> Result<Arc<Disk>> {
    let room = |disk: &Arc<Disk>| disk.space().available;
    let fitting: Vec<&Arc<Disk>> = disks
        .iter()
        .filter(|disk| disk.failure().is_none())
        .filter(|disk| disk.has_room(needed) && may(disk))
        .collect();
    let of = |of: &StorageType| fitting.iter().any(|disk| disk.storage_type() == *of);
    let found = types.iter().find(|t| of(t)).copied();
    let is = |disk: &&Arc<Disk>| Some(disk.storage_type()) == found;
    let fits: Vec<&Arc<Disk>> = fitting.into_iter().filter(is).collect();
    let at = next.fetch_add(1, Ordering::Relaxed);
    let nth = |i: usize| fits.get(i % fits.len().max(1)).copied();
    let best = match policy {
        ChoosingPolicy::RoundRobin => nth(at),
        ChoosingPolicy::Capacity => {
            [nth(at), nth(at + 1)].into_iter().flatten().max_by_key(|disk| room(disk))
        }
    };
    best.cloned().ok_or_else(|| {
        let of_types = || disks.iter().filter(|disk| types.contains(&disk.storage_type()));
        let most = of_types().map(room).max().unwrap_or(0);
        StorageError::OutOfSpace(format!(
            "none of {} disks has {needed} bytes to spare, the most is {most}",
            of_types().count()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_stay_free_is_the_larger_of_bytes_and_share() {
        let cases = [(100, 0.0, 100), (100, 0.2, 200), (100, 0.05, 100), (0, 1.0, 1000)];
        for (bytes, share, expected) in cases {
            assert_eq!(Floor { bytes, share }.of(1000), expected);
        }
        assert_eq!(Floor { bytes: 0, share: 1.0 }.of(u64::MAX), u64::MAX);
    }

    #[test]
    fn containers_leave_no_less_than_writes_do() {
        let dir = tempfile::tempdir().unwrap();
        let floors = |writes, containers| {
            let options = StorageOptions {
                min_free_for_writes: Floor { bytes: 1, share: writes },
                min_free_for_containers: Floor { bytes: 1, share: containers },
                ..StorageOptions::new(Vec::new(), "cluster", types::DatanodeId::random())
            };
            let gauge = Gauge::new(dir.path(), 0, &options);
            let share = |floor: u64| floor as f64 / gauge.measure().capacity as f64;
            (share(gauge.floor_of_writes()), share(gauge.floor_of_containers()))
        };
        let near = |(a, b): (f64, f64), (c, d): (f64, f64)| {
            assert!((a - c).abs() < 1e-3 && (b - d).abs() < 1e-3, "{a} {b}");
        };
        near(floors(0.2, 0.3), (0.2, 0.3));
        near(floors(0.3, 0.2), (0.3, 0.3));
    }

    #[test]
    fn what_others_use_is_a_part_of_what_is_reserved_for_them() {
        // Of 100 reserved, others use 40 of the 70 that are used.
        assert_eq!(kept_free(100, 70, 30), 60);
        assert_eq!(kept_free(100, 500, 30), 0, "they have more than that");
        assert_eq!(kept_free(100, 70, 70), 100, "all that is used is ours");
        // Before the first report, and if files take less space than their length.
        assert_eq!(kept_free(100, 70, u64::MAX), 100);
        assert_eq!(kept_free(u64::MAX, u64::MAX, 0), 0);
    }
}
