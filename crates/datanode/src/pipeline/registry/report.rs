//! Reports of pipelines: to SCM, to metrics and to the status page.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use multiraft::GroupHealth;
use proto::hdds::StorageTypeProto;
use proto::scm_datanode::MetadataStorageReportProto;
use types::PipelineId;

use super::Pipelines;
use crate::pipeline::Pipeline;
use containerstore::{Disk, Space};

impl Pipelines {
    /// Returns the Raft log directories for SCM, which derives the number of pipelines from their
    /// number.
    pub fn log_reports(&self) -> Vec<MetadataStorageReportProto> {
        let parts = &self.inner.parts;
        let report = |disk: &Arc<Disk>| {
            let failed = !parts.logs.contains_key(disk.id()) || self.failure(disk).is_some();
            let space = if failed { Space::default() } else { disk.space() };
            MetadataStorageReportProto {
                storage_location: disk.raft_dir().display().to_string(),
                storage_type: Some(disk.storage_type().to_wire() as i32),
                capacity: Some(space.capacity),
                scm_used: Some(space.fs_used),
                remaining: Some(space.available),
                failed: Some(failed),
            }
        };
        let unopened = parts.store.unopened().iter().map(|unopened| MetadataStorageReportProto {
            storage_location: unopened.raft_dir.display().to_string(),
            storage_type: Some(StorageTypeProto::Disk as i32),
            failed: Some(true),
            ..Default::default()
        });
        parts.store.disks().iter().map(report).chain(unopened).collect()
    }

    /// Pipelines that do not work here, and why.
    pub fn in_trouble(&self) -> Vec<(PipelineId, String)> {
        let trouble = |pipeline: &Arc<Pipeline>| {
            pipeline.supervisor.health().trouble().map(|why| (pipeline.id, why))
        };
        self.inner.running.iter().filter_map(|pipeline| trouble(pipeline.value())).collect()
    }

    /// Returns the pipelines whose group has failed permanently, and the reasons.
    pub fn failed(&self) -> Vec<(PipelineId, String)> {
        let failed = |pipeline: &Arc<Pipeline>| match pipeline.supervisor.health() {
            GroupHealth::Failed(failure) => Some((pipeline.id, failure.to_string())),
            GroupHealth::Works | GroupHealth::Restarting { .. } => None,
        };
        self.inner.running.iter().filter_map(|pipeline| failed(pipeline.value())).collect()
    }

    /// Times that groups of the running pipelines were started again after a failure.
    pub fn restarts(&self) -> u64 {
        self.inner.running.iter().map(|pipeline| pipeline.supervisor.restarts()).sum()
    }

    /// Returns the number of requests to the other members of a pipeline without a leader, which is
    /// to be closed, for their state of it.
    pub fn censuses(&self) -> u64 {
        self.inner.censuses.load(Ordering::Relaxed)
    }

    /// Pipelines led from here.
    pub fn led(&self) -> usize {
        self.inner.running.iter().filter(|pipeline| pipeline.group.is_leader()).count()
    }
}
