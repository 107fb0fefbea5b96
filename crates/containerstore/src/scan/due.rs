//! Choice of the replica to be scanned next.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use container::ContainerState;
use metastore::{Batch, Durability};
use types::ContainerId;

use crate::containers::Container;
use crate::disk::Disk;
use crate::error::Result;
use crate::scan_history::{ScanKind, to_millis};
use crate::store::ContainerStore;
use crate::tables::{self, METADATA};

/// A time this far in the future was recorded with a wrong clock.
const CLOCK_BOUND: Duration = Duration::from_secs(3_600);

/// The scans of the replicas on a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanOverview {
    /// Replicas.
    pub containers: u64,
    /// Closed ones, which are read as a whole.
    pub closed: u64,
    /// Closed ones that never were.
    pub never: u64,
    /// Time of the least recent scan.
    pub oldest: Option<SystemTime>,
}

impl ContainerStore {
    /// Returns at most `most` closed replicas of a disk that are to be read next, the least
    /// recently read first. Checks all replicas of the node.
    pub fn next_scans(
        &self,
        disk: &Disk,
        interval: Duration,
        now: SystemTime,
        most: usize,
    ) -> Vec<ContainerId> {
        let here = |container: &Arc<Container>| std::ptr::eq(&**container.disk(), disk);
        let due = |container: &Arc<Container>| self.is_due(container, interval, now);
        let all = self.all().into_iter().filter(here).filter(due);
        let mut order: Vec<_> = all.map(|c| (c.scanned.data(), c.id())).collect();
        order.sort_unstable();
        order.truncate(most);
        order.into_iter().map(|(_, id)| id).collect()
    }

    /// Returns `true` if a closed replica is on a disk and is to be read as a whole.
    pub fn is_scan_due(
        &self,
        id: ContainerId,
        disk: &Disk,
        interval: Duration,
        now: SystemTime,
    ) -> bool {
        self.find(id).is_some_and(|container| {
            std::ptr::eq(&**container.disk(), disk) && self.is_due(&container, interval, now)
        })
    }

    /// Returns `true` if it was read `interval` ago or earlier, and no scan of it began within the
    /// shortest gap.
    fn is_due(&self, container: &Container, interval: Duration, now: SystemTime) -> bool {
        let (gap, times) = (self.options().scrub_min_gap, &container.scanned);
        ScanKind::Data.covers(container.state())
            && !container.is_replaying()
            && is_past(times.data(), interval.max(gap), now)
            && is_past(times.tried(), gap, now)
    }

    /// Returns `true` if a replica was read as a whole within the shortest gap between two scans.
    pub fn was_scanned_lately(&self, id: ContainerId, now: SystemTime) -> bool {
        let gap = self.options().scrub_min_gap;
        self.find(id).is_some_and(|container| !is_past(container.scanned.data(), gap, now))
    }

    /// Returns the progress of scans of a disk's replicas.
    pub fn scan_overview(&self, disk: &Disk) -> ScanOverview {
        let mut overview = ScanOverview::default();
        for container in self.all().iter().filter(|c| c.disk().id() == disk.id()) {
            overview.containers += 1;
            if !ScanKind::Data.covers(container.state()) {
                continue;
            }
            overview.closed += 1;
            match container.scanned.data() {
                None => overview.never += 1,
                Some(at) => overview.oldest = Some(overview.oldest.map_or(at, |old| old.min(at))),
            }
        }
        overview
    }
}

/// Records that a replica was found sound. Blocks.
pub(super) fn note(container: &Container, kind: ScanKind, now: SystemTime) -> Result<()> {
    let (times, millis) = (&container.scanned, to_millis(now));
    times.set_metadata(millis);
    if kind == ScanKind::Metadata {
        return Ok(());
    }
    // A row written after the removal of the others would outlive the container.
    let _one = container.changing.lock();
    let state = container.state();
    if state.is_live() || state == ContainerState::Deleted {
        return Ok(());
    }
    times.set_data(millis);
    let mut batch = Batch::new();
    let key = tables::metadata_key(container.id(), tables::SCANNED);
    batch.put(METADATA, key, millis.to_be_bytes());
    Ok(container.disk().db.write(batch, Durability::NoWal)?)
}

/// Returns `true` if `at` is `gap` ago, or never was.
fn is_past(at: Option<SystemTime>, gap: Duration, now: SystemTime) -> bool {
    match at.map(|at| now.duration_since(at)) {
        None => true,
        Some(Ok(age)) => age >= gap,
        Some(Err(ahead)) => ahead.duration() > CLOCK_BOUND,
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::StorageError;
    use crate::tests::{CONTAINER, Node, pattern};

    #[test]
    fn the_time_of_a_scan_that_ends_behind_the_removal_leaves_no_row() {
        let mut node = Node::new();
        node.put_small(1, pattern(1, 100));
        node.close();
        let container = node.container();
        note(&container, ScanKind::Data, SystemTime::now()).unwrap();
        node.store().delete_container(CONTAINER, true).unwrap();
        note(&container, ScanKind::Data, SystemTime::now()).unwrap();
        drop(container);
        node.stop();
        node.open();
        // A remaining row would make it a lost one.
        let gone = node.store().container(CONTAINER).unwrap_err();
        assert!(matches!(gone, StorageError::ContainerNotFound(_)), "{gone}");
    }

    #[test]
    fn times_that_lie_far_ahead_count_as_never() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let gap = Duration::from_secs(100);
        let table = [
            (None, true),
            (Some(900), true),
            (Some(901), false),
            (Some(1_000), false),
            (Some(1_000 + 3_600), false),
            (Some(1_001 + 3_600), true),
        ];
        for (then, expected) in table {
            assert_eq!(is_past(then.map(at), gap, at(1_000)), expected, "{then:?}");
        }
    }
}
