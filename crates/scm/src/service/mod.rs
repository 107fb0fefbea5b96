//! Background services: what SCM does without being asked.
//!
//! Each looks at the cluster through one rule and carries out its decision. All run at their
//! interval, and at once when something happened that concerns them; in safe mode, and on an SCM
//! that does not lead, they rest.

mod deletion;
mod drain;
mod nodes;
mod pipelines;
mod replication;
mod scrub;

use std::sync::Arc;

use crate::core::Core;

/// Names of the services, as Ozone has them.
pub mod names {
    /// Watches the age of heartbeats.
    pub const NODE_STATE: &str = "NodeStateManager";
    /// Creates missing pipelines.
    pub const PIPELINE_CREATOR: &str = "BackgroundPipelineCreator";
    /// Finishes pipelines that are closed or came to nothing.
    pub const PIPELINE_SCRUBBER: &str = "BackgroundPipelineScrubber";
    /// Brings containers on their way to an end.
    pub const REPLICATION_MANAGER: &str = "ReplicationManager";
    /// Watches nodes that are on their way out of service.
    pub const ADMIN_MONITOR: &str = "DatanodeAdminMonitor";
    /// Sends the deletion log to DataNodes.
    pub const BLOCK_DELETION: &str = "SCMBlockDeletingService";
    /// All of them.
    pub const ALL: [&str; 6] = [
        NODE_STATE,
        PIPELINE_CREATOR,
        PIPELINE_SCRUBBER,
        REPLICATION_MANAGER,
        ADMIN_MONITOR,
        BLOCK_DELETION,
    ];
}

/// Starts all services.
pub fn spawn(core: &Arc<Core>) {
    core.services.spawn(Arc::new(nodes::NodeStateManager(core.clone())));
    core.services.spawn(Arc::new(pipelines::PipelineCreator(core.clone())));
    core.services.spawn(Arc::new(scrub::PipelineScrubber(core.clone())));
    core.services.spawn(Arc::new(replication::ReplicationManager::new(core.clone())));
    core.services.spawn(Arc::new(drain::DatanodeAdminMonitor::new(core.clone())));
    core.services.spawn(Arc::new(deletion::BlockDeletingService(core.clone())));
}
