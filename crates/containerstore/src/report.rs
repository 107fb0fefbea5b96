//! Reports to SCM: of replicas, and of disks.

use std::sync::Arc;

use proto::scm_datanode::{ContainerReplicaProto, StorageReportProto};
use rustc_hash::FxHashMap;
use types::ContainerId;

use crate::disk::Disk;
use crate::store::ContainerStore;

impl ContainerStore {
    /// All replicas.
    pub fn report(&self) -> Vec<ContainerReplicaProto> {
        self.containers().into_iter().filter_map(|id| self.replica_report(id)).collect()
    }

    /// Returns one replica, if it is here and reported.
    pub fn replica_report(&self, id: ContainerId) -> Option<ContainerReplicaProto> {
        self.container(id).ok()?.report()
    }

    /// Returns the replicas whose state changed since the last call.
    pub fn take_changed(&self) -> Vec<ContainerReplicaProto> {
        self.drain_changed().into_iter().filter_map(|id| self.replica_report(id)).collect()
    }

    /// Bytes that the replicas of each disk hold, and that its open ones may still take.
    pub fn usage(&self) -> FxHashMap<String, (u64, u64)> {
        // By the disk itself: with each heartbeat all replicas are counted, and there may be very
        // many.
        let mut by_disk = FxHashMap::<*const Disk, (u64, u64)>::default();
        self.for_each(|container| {
            let info = container.info();
            let (used, committed) = by_disk.entry(Arc::as_ptr(container.disk())).or_default();
            *used = used.saturating_add(info.used);
            if info.state.is_live() {
                *committed = committed.saturating_add(info.max_size.saturating_sub(info.used));
            }
        });
        let of_disk = |disk: &Arc<Disk>| by_disk.get(&Arc::as_ptr(disk)).copied();
        let known = self.disks().iter();
        known.filter_map(|disk| Some((disk.id().to_owned(), of_disk(disk)?))).collect()
    }

    /// Bytes that the replicas of each disk hold, by the disk's id.
    pub fn used_bytes(&self) -> FxHashMap<String, u64> {
        self.usage().into_iter().map(|(disk, (used, _))| (disk, used)).collect()
    }

    /// All disks, those that could not be opened among them.
    pub fn storage_reports(&self) -> Vec<StorageReportProto> {
        let usage = self.usage();
        self.disks()
            .iter()
            .map(|disk| {
                let (used, committed) = usage.get(disk.id()).copied().unwrap_or_default();
                disk.storage_report(used, committed)
            })
            .chain(self.unopened().iter().map(|unopened| StorageReportProto {
                storage_uuid: unopened.path.display().to_string(),
                storage_location: unopened.path.display().to_string(),
                storage_type: Some(proto::hdds::StorageTypeProto::Disk as i32),
                failed: Some(true),
                capacity: Some(0),
                scm_used: Some(0),
                remaining: Some(0),
                ..Default::default()
            }))
            .collect()
    }
}
