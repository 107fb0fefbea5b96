//! A replica in a report to SCM.

use std::sync::atomic::Ordering;

use proto::scm_datanode::ContainerReplicaProto;

use super::Container;

impl Container {
    /// Returns the replica's report to SCM; `None` for one that is being rebuilt.
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
