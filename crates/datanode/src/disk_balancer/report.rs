//! The balancer's report to the operator.

use std::sync::atomic::Ordering;

use proto::disk_balancer::{DatanodeDiskBalancerInfoProto, VolumeReportProto};
use types::{DatanodeDetails, PortName};

use super::balancer::DiskBalancer;
use super::rule::{Volume, bytes_to_move, density_sum, ideal_usage};
use super::volumes::{DiskUsage, by_type, measure};
use containerstore::ContainerStore;

impl DiskBalancer {
    /// Returns the present state of the balancer and of the node's disks. Calls the file systems.
    pub fn report(
        &self,
        node: &DatanodeDetails,
        store: &ContainerStore,
    ) -> DatanodeDiskBalancerInfoProto {
        let parameters = self.parameters();
        let usage = measure(store, |disk| self.moves_of(disk));
        let all: Vec<Volume> = usage.iter().map(|usage| usage.volume).collect();
        let volume_info = usage.iter().map(volume_report).collect();
        let types: Vec<Vec<Volume>> =
            by_type(usage).iter().map(|of| of.iter().map(|one| one.volume).collect()).collect();
        let left = types.iter().map(|volumes| bytes_to_move(volumes, parameters.threshold));
        let counts = &self.counts;
        let mut node = node.to_wire();
        // Other clients do not have its name.
        node.ports.retain(|port| port.name != PortName::Native.as_str());
        DatanodeDiskBalancerInfoProto {
            node,
            current_volume_density_sum: types.iter().map(|volumes| density_sum(volumes)).sum(),
            running_status: Some(self.status() as i32),
            disk_balancer_conf: Some(parameters.to_wire()),
            success_move_count: Some(counts.moves.load(Ordering::Relaxed)),
            failure_move_count: Some(counts.failures.load(Ordering::Relaxed)),
            bytes_to_move: Some(left.fold(0, u64::saturating_add)),
            bytes_moved: Some(counts.bytes.load(Ordering::Relaxed)),
            ideal_usage: Some(ideal_usage(&all)),
            volume_info,
        }
    }
}

fn volume_report(usage: &DiskUsage) -> VolumeReportProto {
    let DiskUsage { disk, held, volume } = usage;
    VolumeReportProto {
        storage_id: Some(disk.id().to_owned()),
        storage_path: Some(disk.path().display().to_string()),
        total_capacity: Some(volume.capacity),
        used_space: Some(*held),
        committed_bytes: Some(volume.committed),
        effective_used_space: Some(volume.effective_used()),
        utilization: Some(volume.utilization()),
        ozone_available: Some(volume.capacity.saturating_sub(volume.used)),
    }
}
