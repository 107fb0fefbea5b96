//! Names of the background services, for callers that run one before its time.

/// Gives space of deleted blocks back.
pub(crate) const BLOCK_DELETING: &str = "BlockDeletingService";

/// Removes abandoned RECOVERING replicas.
pub(crate) const STALE_RECOVERING: &str = "StaleRecoveringContainerScrubbingService";
/// Compacts the disks' tables after deletions.
pub(crate) const RANGE_COMPACTION: &str = "RangeCompactionService";

/// Reads replicas that are suspicious.
pub(crate) const ON_DEMAND_SCANNER: &str = "OnDemandContainerDataScanner";

/// Checks what containers are made of.
pub(crate) const METADATA_SCANNER: &str = "ContainerMetadataScanner";

/// Reads the closed containers of a disk, of which it is the `index`th.
pub(crate) fn data_scanner(index: usize) -> String {
    format!("ContainerDataScanner-disk{index}")
}

/// Tests the disks.
pub(crate) const DISK_CHECK: &str = "DiskCheckService";

/// Moves replicas from full disks to emptier ones.
pub(crate) const DISK_BALANCER: &str = "DiskBalancerService";

/// Works the checksums of closed replicas out.
pub(crate) const CONTAINER_CHECKSUMS: &str = "ContainerChecksumService";
