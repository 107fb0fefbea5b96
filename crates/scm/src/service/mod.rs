//! Background services: what SCM does without being asked.
//!
//! Each looks at the cluster through one rule and carries out its decision. All run at their
//! interval, and at once when something happened that concerns them; in safe mode, and on an SCM
//! that does not lead, they rest.

mod admin_monitor;
mod deletion;
mod nodes;
mod pipelines;
mod replication;
mod scrub;

use std::sync::Arc;

use crate::core::Core;

/// Starts all services.
pub fn spawn(core: &Arc<Core>) {
    core.services.spawn(Arc::new(nodes::NodeStateManager(core.clone())));
    core.services.spawn(Arc::new(pipelines::PipelineCreator(core.clone())));
    core.services.spawn(Arc::new(scrub::PipelineScrubber(core.clone())));
    core.services.spawn(Arc::new(replication::ReplicationManager::new(core.clone())));
    core.services.spawn(Arc::new(admin_monitor::DatanodeAdminMonitor::new(core.clone())));
    core.services.spawn(Arc::new(deletion::BlockDeletingService(core.clone())));
}
