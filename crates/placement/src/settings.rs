//! The numbers that decisions depend on; the server fills them from the configuration.

/// Treatment of a reported replica of a container that SCM has no record of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownContainer {
    /// Leave it.
    Warn,
    /// Order the node to delete it if there is no block in it.
    Delete,
}

/// Settings of [`Cluster`](crate::Cluster); times in milliseconds.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Age of the last heartbeat from which on a node is STALE.
    pub stale_after: u64,
    /// Age of the last heartbeat from which on a node is DEAD.
    pub dead_after: u64,
    /// RATIS/THREE pipelines a node takes part in; 0: determined by its disks.
    pub pipeline_limit: u32,
    /// RATIS/THREE pipelines per healthy disk when `pipeline_limit` is 0.
    pub pipelines_per_disk: u32,
    /// RATIS/THREE pipelines of the whole cluster; 0 is no limit.
    pub cluster_pipeline_limit: u32,
    /// True if RATIS/ONE pipelines are created without a request.
    pub create_factor_one: bool,
    /// Time limit for a pipeline in state ALLOCATED.
    pub allocated_timeout: u64,
    /// Time for which a closed pipeline's groups are kept for their containers to close.
    pub destroy_timeout: u64,
    /// Bytes a container is meant to hold.
    pub container_size: u64,
    /// Share of `container_size` from which on a container is closed.
    pub close_threshold: f64,
    /// Open containers per pipeline and owner.
    pub containers_per_pipeline: u32,
    /// Pipelines of erasure coded block groups.
    pub ec: EcSettings,
    /// Delay before an order without effect is sent again.
    pub resend_after: u64,
    /// Treatment of replicas of unknown containers.
    pub unknown_container: UnknownContainer,
    /// The replication manager's settings.
    pub replication: ReplicationSettings,
    /// The deletion log's settings.
    pub deletion: DeletionSettings,
    /// The safe mode's settings.
    pub safe_mode: SafeModeSettings,
}

/// Settings of pipelines of erasure coded block groups.
#[derive(Debug, Clone)]
pub struct EcSettings {
    /// Minimum of open pipelines of each replication.
    pub pipeline_minimum: u32,
    /// Open pipelines that a data directory takes part in.
    pub pipelines_per_disk: f64,
}

/// Settings of the replication manager.
#[derive(Debug, Clone)]
pub struct ReplicationSettings {
    /// Time for which a copy or deletion that was ordered counts as pending.
    pub timeout: u64,
    /// Time before SCM's timeout of an order by which the node must have begun it.
    pub deadline_offset: u64,
    /// Time between two rounds in which missing or misplaced replicas are made, at least.
    pub under_interval: u64,
    /// Minimum interval of rounds that delete surplus replicas.
    pub over_interval: u64,
    /// Copies that a node sends, and gets, at a time.
    pub copies_per_node: u32,
    /// Replicas that a node deletes at a time.
    pub deletes_per_node: u32,
    /// Limit of a node that leaves the service, as a multiple of `copies_per_node`.
    pub out_of_service_factor: f64,
    /// Copies in flight in the whole cluster, as a share of the limit of its healthy nodes; 0 is no
    /// limit.
    pub in_flight_share: f64,
    /// Replicas that must stay online when nodes enter maintenance.
    pub maintenance_minimum: u32,
    /// Indexes of an erasure coded container that must stay online when nodes enter maintenance, in
    /// addition to those needed to read it.
    pub maintenance_redundancy: u32,
    /// Copies that a reconstruction of erasure coded replicas counts as.
    pub reconstruction_weight: u32,
    /// True if replicas have to be in at least two racks.
    pub rack_aware: bool,
    /// True if the replicas of a node that leaves are sent to one other node by default.
    pub point_to_point: bool,
    /// True if replicas on disks of another storage type than they belong on are moved.
    pub storage_types: bool,
    /// Containers named per kind of trouble in the report.
    pub sample_limit: usize,
}

/// Settings of the deletion log.
#[derive(Debug, Clone)]
pub struct DeletionSettings {
    /// Rounds after which a transaction is put aside until an operator resets it.
    pub max_retries: u32,
    /// Time to wait for an acknowledgement before sending again.
    pub resend_after: u64,
    /// Blocks sent per round over all nodes.
    pub blocks_per_round: usize,
}

/// Settings of the safe mode.
#[derive(Debug, Clone)]
pub struct SafeModeSettings {
    /// True if safe mode is enabled.
    pub enabled: bool,
    /// DataNodes that must have registered.
    pub min_datanodes: u32,
    /// Share of closed containers that must have a replica reported.
    pub container_share: f64,
    /// Share of known RATIS/THREE pipelines that must be healthy.
    pub healthy_pipeline_share: f64,
    /// Share of known RATIS/THREE pipelines of which at least one member must have reported.
    pub reported_pipeline_share: f64,
}

impl Settings {
    /// Bytes from which on a container takes no more blocks.
    pub fn full_at(&self) -> u64 {
        whole(self.container_size as f64 * self.close_threshold) as u64
    }
}

/// A share of a number as a number: never negative, and no larger than there can be.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float's cast saturates"
)]
pub(crate) fn whole(share: f64) -> usize {
    share as usize
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            stale_after: 10_000,
            dead_after: 60_000,
            pipeline_limit: 2,
            pipelines_per_disk: 2,
            cluster_pipeline_limit: 0,
            create_factor_one: true,
            allocated_timeout: 20_000,
            destroy_timeout: 66_000,
            container_size: 5 << 30,
            close_threshold: 0.9,
            containers_per_pipeline: 3,
            resend_after: 10_000,
            unknown_container: UnknownContainer::Warn,
            replication: ReplicationSettings {
                timeout: 720_000,
                deadline_offset: 360_000,
                under_interval: 0,
                over_interval: 0,
                copies_per_node: 20,
                deletes_per_node: 40,
                out_of_service_factor: 2.0,
                in_flight_share: 0.75,
                maintenance_minimum: 2,
                maintenance_redundancy: 1,
                reconstruction_weight: 3,
                rack_aware: true,
                point_to_point: false,
                storage_types: true,
                sample_limit: 100,
            },
            ec: EcSettings { pipeline_minimum: 5, pipelines_per_disk: 1.0 },
            deletion: DeletionSettings {
                max_retries: 4096,
                resend_after: 60_000,
                blocks_per_round: 500_000,
            },
            safe_mode: SafeModeSettings {
                enabled: true,
                min_datanodes: 1,
                container_share: 0.99,
                healthy_pipeline_share: 0.1,
                reported_pipeline_share: 0.9,
            },
        }
    }
}
