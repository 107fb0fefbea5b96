//! Background work of a DataNode: services that run at intervals, and the handling of failed disks.

pub(crate) mod closing;
pub(crate) mod container_checksums;
pub(crate) mod disk_balancing;
pub(crate) mod disk_check;
pub(crate) mod failed_disks;
pub(crate) mod pipeline_liveness;
pub(crate) mod range_compaction;
pub(crate) mod reclaim;
pub(crate) mod scan;
pub(crate) mod small_chunks;
pub(crate) mod stale_recovering;
