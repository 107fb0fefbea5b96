//! What SCM is told.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use proto::scm_datanode::ContainerReplicaProto;
use proto::scm_datanode::StorageReportProto;
use rustc_hash::FxHashMap;
use types::ContainerId;

use super::Container;
use crate::disk::Disk;
use crate::store::ContainerStore;

impl Container {
    /// The replica as SCM is told of it; `None` for one that is being rebuilt.
    pub fn report(&self) -> Option<ContainerReplicaProto> {
        let info = self.info();
        let signed = |n: u64| Some(i64::try_from(n).unwrap_or(i64::MAX));
        let count = |n: &std::sync::atomic::AtomicU64| signed(n.load(Ordering::Relaxed));
        Some(ContainerReplicaProto {
            container_id: info.id.to_wire(),
            state: info.state.to_replica()? as i32,
            size: signed(info.max_size),
            used: signed(info.used),
            key_count: signed(info.blocks),
            read_count: count(&self.traffic.reads),
            write_count: count(&self.traffic.writes),
            read_bytes: count(&self.traffic.read_bytes),
            write_bytes: count(&self.traffic.written_bytes),
            finalhash: None,
            delete_transaction_id: signed(info.delete_tx),
            block_commit_sequence_id: Some(info.bcsid),
            origin_node_id: Some(self.fixed.origin.clone()),
            replica_index: Some(info.replica_index),
            is_empty: Some(info.blocks == 0 && !info.state.is_live()),
            data_checksum: self.known_checksum().map(u64::cast_signed),
            storage_type: self.disk.storage_type().to_optional_wire(),
        })
    }
}

impl ContainerStore {
    /// All replicas.
    pub fn report(&self) -> Vec<ContainerReplicaProto> {
        self.containers().into_iter().filter_map(|id| self.replica_report(id)).collect()
    }

    /// One replica, if it is here and reported.
    pub fn replica_report(&self, id: ContainerId) -> Option<ContainerReplicaProto> {
        self.container(id).ok()?.report()
    }

    /// Replicas whose state changed since this was last asked.
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
