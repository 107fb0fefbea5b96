//! Names of the background services, for callers that run one before its time.

/// Name of the service that frees the space of deleted blocks.
pub(crate) const BLOCK_DELETING: &str = "BlockDeletingService";

/// Name of the service that removes abandoned RECOVERING replicas.
pub(crate) const STALE_RECOVERING: &str = "StaleRecoveringContainerScrubbingService";
/// Name of the service that compacts the disks' tables after deletions.
pub(crate) const RANGE_COMPACTION: &str = "RangeCompactionService";

/// Name of the service that reads suspicious replicas.
pub(crate) const ON_DEMAND_SCANNER: &str = "OnDemandContainerDataScanner";

/// Name of the service that checks the parts of containers.
pub(crate) const METADATA_SCANNER: &str = "ContainerMetadataScanner";

/// Returns the name of the service that reads the closed containers of the disk with this index.
pub(crate) fn data_scanner(index: usize) -> String {
    format!("ContainerDataScanner-disk{index}")
}

/// Name of the service that tests the disks.
pub(crate) const DISK_CHECK: &str = "DiskCheckService";

/// Name of the service that moves replicas from full disks to emptier ones.
pub(crate) const DISK_BALANCER: &str = "DiskBalancerService";

/// Name of the service that computes the checksums of closed replicas.
pub(crate) const CONTAINER_CHECKSUMS: &str = "ContainerChecksumService";
