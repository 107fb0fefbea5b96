//! Background services: what SCM does without being asked.
//!
//! Each checks the cluster by one rule and carries out its decision. All run at their interval, and
//! immediately after related events; in safe mode, and on a follower, they are idle. Only the
//! compaction of the tables continues: every SCM has its own.

mod admin_monitor;
mod balancer;
mod deletion;
mod nodes;
mod pipelines;
mod range_compaction;
mod replication;
mod scrub;

use std::sync::Arc;

use metastore::Store;
use range_compaction::RangeCompaction;

use crate::core::Core;

/// Starts all services.
pub fn spawn(core: &Arc<Core>, store: &Store) {
    core.services.spawn(Arc::new(nodes::NodeStateManager(core.clone())));
    core.services.spawn(Arc::new(pipelines::PipelineCreator(core.clone())));
    core.services.spawn(Arc::new(scrub::PipelineScrubber(core.clone())));
    core.services.spawn(Arc::new(replication::ReplicationManager::new(core.clone())));
    core.services.spawn(Arc::new(admin_monitor::DatanodeAdminMonitor::new(core.clone())));
    core.services.spawn(Arc::new(deletion::BlockDeletingService::new(core.clone())));
    core.services.spawn(Arc::new(balancer::ContainerBalancer(core.clone())));
    if let Some(options) = &core.options.range_compaction {
        core.services.spawn(Arc::new(RangeCompaction::new(store.clone(), options)));
    }
}
