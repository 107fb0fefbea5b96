//! What the background services are called, for those that run one before its time.

/// Gives space of deleted blocks back.
pub(crate) const BLOCK_DELETING: &str = "BlockDeletingService";

/// Reads replicas that are suspicious.
pub(crate) const ON_DEMAND_SCANNER: &str = "OnDemandContainerDataScanner";

/// Tests the disks.
pub(crate) const DISK_CHECK: &str = "DiskCheckService";
