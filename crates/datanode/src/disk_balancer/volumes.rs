//! Usage of a node's disks.
//!
//! A disk's usage is that of its file system, by others too. Data directories that share a file
//! system each have an equal share of it, of its use by others, and all of the bytes of their own
//! replicas: otherwise they would look equally full whatever they contain.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use types::StorageType;

use super::rule::Volume;
use containerstore::{ContainerStore, Disk, Space};

/// A disk with its measures for the rule.
#[derive(Debug, Clone)]
pub(crate) struct DiskUsage {
    /// The disk.
    pub disk: Arc<Disk>,
    /// Bytes that its replicas hold.
    pub held: u64,
    /// For the rule.
    pub volume: Volume,
}

/// Measures of a disk for the calculation.
struct Measured {
    /// The file system; `None` if it cannot be determined.
    device: Option<u64>,
    space: Space,
    min_free: u64,
    /// Bytes of replicas, including sources of finished moves.
    held: u64,
    committed: u64,
    leaving: u64,
}

/// Measures the disks that work; `moves` contains the bytes in transit to and from a disk, by its
/// id. Calls the file systems.
pub(crate) fn measure(
    store: &ContainerStore,
    moves: impl Fn(&Disk) -> (u64, u64),
) -> Vec<DiskUsage> {
    let usage = store.usage();
    let disks: Vec<_> =
        store.disks().iter().filter(|disk| disk.failure().is_none()).cloned().collect();
    let measured: Vec<_> = disks
        .iter()
        .map(|disk| {
            let (used, committed) = usage.get(disk.id()).copied().unwrap_or_default();
            let left = store.retired_bytes(disk);
            Measured {
                device: std::fs::metadata(disk.path()).ok().map(|found| found.dev()),
                space: disk.space(),
                min_free: disk.min_free(),
                held: used.saturating_add(left),
                committed,
                leaving: left,
            }
        })
        .collect();
    let volumes = volumes(&measured);
    let with_moves = |((disk, measured), volume): ((Arc<Disk>, &Measured), Volume)| {
        let (coming, leaving) = moves(&disk);
        let leaving = volume.leaving.saturating_add(leaving);
        DiskUsage { disk, held: measured.held, volume: Volume { coming, leaving, ..volume } }
    };
    disks.into_iter().zip(&measured).zip(volumes).map(with_moves).collect()
}

/// The disks of each storage type that there is.
pub(crate) fn by_type(usage: Vec<DiskUsage>) -> Vec<Vec<DiskUsage>> {
    let mut types: BTreeMap<StorageType, Vec<DiskUsage>> = BTreeMap::new();
    for one in usage {
        types.entry(one.disk.storage_type()).or_default().push(one);
    }
    types.into_values().collect()
}

/// A file system with data directories on it.
struct Shared {
    directories: u64,
    /// Used bytes, by any program.
    used: u64,
    /// Part of it in its directories.
    held: u64,
}

fn used(space: Space) -> u64 {
    space.capacity.saturating_sub(space.available)
}

fn volumes(disks: &[Measured]) -> Vec<Volume> {
    let mut shared: BTreeMap<u64, Shared> = BTreeMap::new();
    for disk in disks {
        if let Some(device) = disk.device {
            // Its usage is measured once: it changes from one moment to the next.
            let new = || Shared { directories: 0, used: used(disk.space), held: 0 };
            let all = shared.entry(device).or_insert_with(new);
            all.directories = all.directories.saturating_add(1);
            all.held = all.held.saturating_add(disk.held);
        }
    }
    let volume = |disk: &Measured| {
        let all = disk.device.and_then(|device| shared.get(&device));
        let count = all.map_or(1, |all| all.directories.max(1));
        let Space { capacity, available, .. } = disk.space;
        Volume {
            capacity: capacity / count,
            used: match all.filter(|_| count > 1) {
                // Files may take less space than their length.
                Some(all) => (all.used.saturating_sub(all.held) / count).saturating_add(disk.held),
                None => used(disk.space),
            },
            usable: available.saturating_sub(disk.min_free),
            committed: disk.committed,
            coming: 0,
            leaving: disk.leaving,
        }
    };
    disks.iter().map(volume).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(device: u64, capacity: u64, available: u64, held: u64) -> Measured {
        Measured {
            device: Some(device),
            space: Space { capacity, available, ..Space::default() },
            min_free: 10,
            held,
            committed: 0,
            leaving: 0,
        }
    }

    #[test]
    fn a_disk_of_its_own_is_as_full_as_its_file_system() {
        let all = volumes(&[disk(1, 1_000, 300, 200), disk(2, 500, 500, 0)]);
        assert_eq!((all[0].capacity, all[0].used, all[0].usable), (1_000, 700, 290));
        assert_eq!((all[1].capacity, all[1].used, all[1].usable), (500, 0, 490));
    }

    #[test]
    fn directories_that_share_a_file_system_have_an_equal_share_of_it() {
        // 700 are used, of which replicas hold 400.
        let all = volumes(&[disk(1, 1_000, 300, 400), disk(1, 1_000, 300, 0), disk(2, 70, 70, 0)]);
        assert_eq!((all[0].capacity, all[0].used), (500, 550));
        assert_eq!((all[1].capacity, all[1].used), (500, 150));
        assert_eq!((all[2].capacity, all[2].used), (70, 0));
        // More in the files than they take.
        let sparse = volumes(&[disk(1, 1_000, 900, 400), disk(1, 1_000, 900, 0)]);
        assert_eq!((sparse[0].used, sparse[1].used), (400, 0));
    }

    #[test]
    fn a_disk_whose_file_system_cannot_be_told_counts_for_itself() {
        let unknown = Measured { device: None, ..disk(1, 1_000, 300, 200) };
        let all = volumes(&[unknown, disk(1, 1_000, 300, 100)]);
        assert_eq!((all[0].capacity, all[0].used), (1_000, 700));
        assert_eq!((all[1].capacity, all[1].used), (1_000, 700));
    }
}
