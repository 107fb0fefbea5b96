//! A DataNode whose disks are open: what the endpoints and SCM's commands work on.

use std::sync::Arc;

use arc_swap::ArcSwap;
use container::ContainerState;
use proto::disk_balancer::DatanodeDiskBalancerInfoProto;
use service::BackgroundServices;
use types::{ContainerId, DatanodeDetails, OperationalState, StorageType};

use crate::command::CommandContext;
use crate::command::budget::Budget;
use crate::command::late_reads::LateReads;
use crate::commands_in_progress::UnderWay;
use crate::disk_balancer::DiskBalancer;
use crate::pending_reports::PendingReports;
use crate::pipeline::Pipelines;
use crate::repair::pace::RepairPace;
use crate::repair::push::{Arrivals, Pusher};
use crate::repair::reconcile::Counts as ReconcileCounts;
use crate::repair::reconstruct::{Audit, Counts};
use crate::settings::Settings;
use crate::storage_type::ContainerTypes;
use containerstore::ContainerStore;

/// The working parts of a DataNode.
pub(crate) struct Node {
    /// Its settings at start.
    pub settings: Settings,
    /// Its identity.
    pub details: ArcSwap<DatanodeDetails>,
    /// The disks.
    pub store: ContainerStore,
    /// The pipelines.
    pub pipelines: Pipelines,
    /// Pending reports to SCM.
    pub pending_reports: Arc<PendingReports>,
    /// Bound on the bytes of writes in flight.
    pub write_budget: Budget,
    /// Bound on the bytes of reads in flight.
    pub read_budget: Budget,
    /// Reads that were refused lately.
    pub late_reads: LateReads,
    /// Storage types of containers' disks.
    pub container_types: ContainerTypes,
    /// SCM's commands in progress.
    pub under_way: UnderWay,
    /// Rate of repairs.
    pub pace: Arc<RepairPace>,
    /// Copies containers to other nodes.
    pub pusher: Pusher,
    /// Counts of reconstructions by this node.
    pub reconstructions: Counts,
    /// Counts of reconciliations.
    pub reconciliations: ReconcileCounts,
    /// The audit log.
    pub audit: Audit,
    /// Containers that arrive from other nodes.
    pub arrivals: Arrivals,
    /// Balances the disks.
    pub disk_balancer: DiskBalancer,
    /// The background services.
    pub services: BackgroundServices,
}

impl Node {
    /// Returns the state that commands work on.
    pub fn command_context(&self) -> CommandContext<'_> {
        let Self { store, settings, read_budget, late_reads, .. } = self;
        CommandContext { store, settings, read_budget, late_reads, storage_type: None }
    }

    /// The storage type of the disk that a replica which a write would make here belongs on; `None`
    /// when there is nothing to choose.
    pub async fn storage_type_for(&self, container: ContainerId) -> Option<StorageType> {
        if !self.store.has_several_types() || self.store.container(container).is_ok() {
            return None;
        }
        self.container_types.of(container).await
    }

    /// Collects the disks' changes into the pending reports.
    pub fn collect_changes(&self) {
        for replica in self.store.take_changed() {
            self.pending_reports.container_changed(ContainerId::from_wire(replica.container_id));
        }
        if self.store.suspects() > 0 {
            self.services.wake(crate::service_names::ON_DEMAND_SCANNER);
        }
        for id in self.store.take_full() {
            self.pending_reports.container_full(id);
        }
    }

    /// Containers that still take writes although they are full.
    pub fn full_containers(&self) -> Vec<ContainerId> {
        let limit = (self.settings.container_size as f64 * self.settings.close_threshold) as u64;
        let is_full = |id: &ContainerId| {
            self.store.container(*id).is_ok_and(|container| {
                let info = container.info();
                let is_over = info.used >= limit || container.has_many_notes();
                info.state == ContainerState::Open && is_over
            })
        };
        self.pipelines.containers().into_iter().filter(is_full).collect()
    }

    /// Returns `true` if the operational state is IN_SERVICE.
    pub fn is_in_service(&self) -> bool {
        self.details.load().op_state == OperationalState::InService
    }

    /// Returns the present state of the disk balancer and the disks. Calls the file systems.
    pub fn disk_balancer_report(&self) -> DatanodeDiskBalancerInfoProto {
        self.disk_balancer.report(&self.details.load(), &self.store)
    }

    /// Space can be given back.
    pub fn reclaim_soon(&self) {
        self.services.wake(crate::service_names::BLOCK_DELETING);
    }
}
