//! Names of the background services, as Ozone has them.

/// Watches the age of heartbeats.
pub const NODE_STATE: &str = "NodeStateManager";
/// Creates missing pipelines.
pub const PIPELINE_CREATOR: &str = "BackgroundPipelineCreator";
/// Deletes pipelines that are closed or failed to open.
pub const PIPELINE_SCRUBBER: &str = "BackgroundPipelineScrubber";
/// Completes transitions of containers, and repairs replicas.
pub const REPLICATION_MANAGER: &str = "ReplicationManager";
/// Watches nodes that leave service.
pub const ADMIN_MONITOR: &str = "DatanodeAdminMonitor";
/// Sends the deletion log to DataNodes.
pub const BLOCK_DELETION: &str = "SCMBlockDeletingService";
/// Moves containers from full nodes to empty ones, when it was started.
pub const CONTAINER_BALANCER: &str = "ContainerBalancer";
/// Compacts tombstones in the tables.
pub const RANGE_COMPACTION: &str = "RangeCompactionService";
/// All of them but the compaction, which concerns no other.
pub const ALL: [&str; 7] = [
    NODE_STATE,
    PIPELINE_CREATOR,
    PIPELINE_SCRUBBER,
    REPLICATION_MANAGER,
    ADMIN_MONITOR,
    BLOCK_DELETION,
    CONTAINER_BALANCER,
];
