//! Options of opening the disks.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use blockio::DiskOptions;
use chunkcache::ChunkCache;
use config::DirPermissions;
use types::{DatanodeId, StorageType};

/// Policy of choosing a disk for a new container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChoosingPolicy {
    /// Round robin, and of two neighbours the one with more space.
    #[default]
    Capacity,
    /// Round robin.
    RoundRobin,
}

/// Space of a disk that must stay free.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Floor {
    /// Bytes that must.
    pub bytes: u64,
    /// Share of the disk that must, 0 to 1, when that is more.
    pub share: f64,
}

impl Floor {
    /// The bytes that must stay free of a disk of this size.
    pub fn of(self, capacity: u64) -> u64 {
        self.bytes.max((capacity as f64 * self.share) as u64)
    }
}

/// One data directory: one disk.
#[derive(Debug, Clone)]
pub struct DataDirectory {
    /// The directory (`hdds.datanode.dir`).
    pub path: PathBuf,
    /// Its storage type.
    pub storage_type: StorageType,
    /// Directory of the disk's Raft log; next to the data if `None`.
    pub raft_dir: Option<PathBuf>,
    /// Bytes never used.
    pub reserved: u64,
}

impl DataDirectory {
    /// Returns a directory of the usual type without reserved space, Raft log next to the data.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let storage_type = StorageType::default();
        Self { path: path.into(), storage_type, raft_dir: None, reserved: 0 }
    }
}

/// Options of opening the disks.
#[derive(Debug, Clone)]
pub struct StorageOptions {
    /// The disks.
    pub dirs: Vec<DataDirectory>,
    /// Permissions of where their data and Raft logs are.
    pub permissions: DirPermissions,
    /// The cluster they belong to.
    pub cluster_id: String,
    /// The DataNode they belong to.
    pub datanode: DatanodeId,
    /// The journal of erasure-coded replicas that were here, stored with the node's identity;
    /// without it replicas of a replaced disk are recreated.
    pub ec_replica_journal: Option<PathBuf>,
    /// Free space below which a disk takes no more writes.
    pub min_free_for_writes: Floor,
    /// Free space below which a disk gets no more containers, when that is more.
    pub min_free_for_containers: Floor,
    /// Share of every disk never used, 0 to 1.
    pub reserved_share: f64,
    /// Policy of choosing a disk for a new container.
    pub choosing: ChoosingPolicy,
    /// Size at which a container counts as full.
    pub container_size: u64,
    /// Share of its size at which a container should be closed, 0 to 1.
    pub close_threshold: f64,
    /// Blocks up to this size are packed into segments.
    pub small_block_max: u64,
    /// Size at which a segment takes no more records: what compaction moves at most.
    pub segment_size: u64,
    /// Packed bytes per disk that wait in memory to be written; the log has them too.
    pub pending_bytes: usize,
    /// Verify chunk checksums as chunks are written.
    pub verify_writes: bool,
    /// The I/O executors; each gets its disk's name.
    pub io: DiskOptions,
    /// Least time between two readings of a whole replica that is suspicious.
    pub scrub_min_gap: Duration,
    /// A disk that takes longer to open is left out.
    pub open_timeout: Duration,
    /// Bytes of cached rows per disk.
    pub metadata_cache: usize,
    /// Bytes of unflushed rows per disk.
    pub metadata_buffer: usize,
    /// Files of the database that are kept open per disk.
    pub metadata_open_files: u32,
    /// Load closed containers from rows: scans of their metadata check their files later.
    pub closed_from_rows: bool,
    /// First chunks of blocks on fast disks, if there are such disks.
    pub cache: Option<Arc<ChunkCache>>,
}

impl StorageOptions {
    /// Bytes that no container exceeds: the last blocks of one that is full may be as long as its
    /// size.
    pub fn most_in_container(&self) -> u64 {
        const LEAST: u64 = 1 << 30;
        self.container_size.saturating_mul(4).max(LEAST)
    }

    /// Defaults for these directories.
    pub fn new(
        dirs: Vec<DataDirectory>,
        cluster_id: impl Into<String>,
        datanode: DatanodeId,
    ) -> Self {
        Self {
            dirs,
            permissions: DirPermissions::OWNER,
            cluster_id: cluster_id.into(),
            datanode,
            ec_replica_journal: None,
            min_free_for_writes: Floor { bytes: 100 << 20, share: 0.0 },
            min_free_for_containers: Floor { bytes: 100 << 20, share: 0.0 },
            reserved_share: 0.0001,
            choosing: ChoosingPolicy::default(),
            container_size: 5 << 30,
            close_threshold: 0.9,
            small_block_max: 64 << 10,
            segment_size: 64 << 20,
            pending_bytes: 4 << 20,
            verify_writes: false,
            io: DiskOptions::default(),
            scrub_min_gap: Duration::from_secs(15 * 60),
            open_timeout: Duration::from_secs(10 * 60),
            metadata_cache: 64 << 20,
            metadata_buffer: 32 << 20,
            metadata_open_files: 512,
            closed_from_rows: false,
            cache: None,
        }
    }
}
