//! One data directory: lock, VERSION, database, executor, and the positions of its pipelines.
//!
//! ```text
//! <dir>/hdds/VERSION, in_use.lock
//! <dir>/hdds/<clusterID>/DS-<uuid>/container.db/
//! <dir>/hdds/<clusterID>/current/containerDir<N>/<containerID>/{metadata,chunks}/
//! <dir>/hdds/<clusterID>/tmp/{deleted,arriving}-containers/
//! <dir>/ratis/                                   the Raft log, unless placed elsewhere
//! ```

mod check;
mod database;
mod deleting;
mod dirty;
mod flush;
mod flushes;
mod open;
mod refused;
mod space;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use blockio::IoError;
use bytes::Bytes;
use metastore::Store;
use rustc_hash::FxHashMap;
use service::DataDir;
use types::{ContainerId, PipelineId, StorageType};

pub use check::CheckFault;
pub(crate) use database::Database;
pub(crate) use deleting::{ANY_TRANSACTION, Deleting};
pub(crate) use dirty::{DirtyReplica, Undurable};
pub(crate) use flushes::Flushes;
pub(crate) use open::sweep;
pub(crate) use refused::RefusedReads;
pub use space::Space;
pub(crate) use space::{choose, types_for};

use crate::error::{Result, StorageError};
use crate::lock_order::OrderedMutex;
use crate::position::PipelinePositions;
use crate::read_timeout::ReadTimeout;
use crate::scan_history::DiskScans;

/// One disk. Its locks have their place in the order of those of [containers](crate::containers).
pub struct Disk {
    id: String,
    storage_type: StorageType,
    /// `<dir>/hdds`.
    root: PathBuf,
    /// `<dir>/hdds/<clusterID>`.
    cluster: PathBuf,
    raft_dir: PathBuf,
    pub(crate) db: Database,
    pub(crate) io: blockio::Disk,
    space: space::Gauge,
    /// Reads that the device refused.
    pub(crate) refused: Arc<RefusedReads>,
    /// Tests of its directories that failed.
    failed_tests: AtomicU64,
    /// Results of scans of its replicas.
    pub(crate) scans: DiskScans,
    /// Positions of the disk's pipelines.
    pub(crate) pipelines: OrderedMutex<FxHashMap<PipelineId, PipelinePositions>>,
    /// Replicas with bytes that are not durable yet.
    pub(crate) dirty: OrderedMutex<FxHashMap<ContainerId, Weak<dyn DirtyReplica>>>,
    /// Packed bytes in memory.
    pub(crate) pending: AtomicUsize,
    pending_bound: usize,
    /// Containers with deletion transactions to carry out.
    pub(crate) deleting: OrderedMutex<Deleting>,
    /// Flushes so far.
    pub(crate) flushes: Flushes,
    /// Serializes counts of deletions.
    pub(crate) deletion_look: Arc<tokio::sync::Mutex<()>>,
    /// Serializes flushes.
    flushing: OrderedMutex<()>,
    _lock: DataDir,
}

impl Disk {
    /// The disk's storage id, `DS-<uuid>`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns its storage type.
    pub fn storage_type(&self) -> StorageType {
        self.storage_type
    }

    /// The directory in use: `<dir>/hdds`.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Returns the directory of the disk's Raft log.
    pub fn raft_dir(&self) -> &Path {
        &self.raft_dir
    }

    /// The file that remembers the Raft log, with the disk's tables: a log that is lost alone is
    /// missed there.
    pub fn raft_manifest(&self) -> PathBuf {
        self.cluster.join("raft-log.manifest")
    }

    /// The disk's executor, for its figures.
    pub fn io(&self) -> &blockio::Disk {
        &self.io
    }

    /// The disk's database, for its figures.
    pub fn database(&self) -> &Store {
        &self.db
    }

    /// Returns the reason why the disk failed, if it did: a sync, or a flush of its database,
    /// failed once. It takes no more writes, even if a later one would succeed.
    pub fn failure(&self) -> Option<String> {
        self.io.failure().map(|error| error.to_string())
    }

    /// Returns the number of failed tests of its data directory and its Raft log's directory.
    pub fn failed_tests(&self) -> u64 {
        self.failed_tests.load(Ordering::Relaxed)
    }

    /// Counts a test that failed.
    pub fn note_failed_test(&self) {
        self.failed_tests.fetch_add(1, Ordering::Relaxed);
    }

    /// Files of which the device refused to give bytes.
    pub fn refused_files(&self) -> usize {
        self.refused.files()
    }

    /// Returns the results of scans of its replicas.
    pub fn scans(&self) -> &DiskScans {
        &self.scans
    }

    /// Refuses an operation of a disk that has failed.
    ///
    /// # Errors
    /// When it has failed.
    pub fn check(&self) -> Result<()> {
        match self.failure() {
            None => Ok(()),
            Some(reason) => Err(StorageError::DiskFailed { disk: self.id.clone(), reason }),
        }
    }

    /// Bytes of a file.
    pub(crate) async fn read(
        &self,
        path: Arc<Path>,
        offset: u64,
        len: usize,
        timeout: ReadTimeout,
    ) -> Result<Bytes, IoError> {
        match timeout {
            ReadTimeout::Unlimited => self.io.read(path, offset, len).await,
            ReadTimeout::Limited => self.io.read_timely(path, offset, len).await,
        }
    }

    /// Syncs a file that the caller wrote. Blocks.
    pub(crate) fn sync_file(&self, file: &File, path: &Path) -> Result<()> {
        self.io.sync_file(file, path).map_err(|error| StorageError::disk(path, error))
    }

    /// Syncs the names in a directory. Blocks.
    pub(crate) fn sync_names(&self, directory: &Path) -> Result<()> {
        self.io.sync_names(directory).map_err(|error| StorageError::disk(directory, error))
    }

    /// Packed bytes that wait in memory to be written.
    pub fn pending_bytes(&self) -> usize {
        self.pending.load(Ordering::Relaxed)
    }

    /// Returns the pipelines with positions on this disk.
    pub fn pipelines(&self) -> Vec<PipelineId> {
        self.pipelines.lock().keys().copied().collect()
    }

    /// Directory of a container.
    pub(crate) fn container_dir(&self, id: ContainerId) -> PathBuf {
        self.containers_dir()
            .join(format!("containerDir{}", (id.0 >> 9) & 0xFF))
            .join(id.to_string())
    }

    pub(crate) fn containers_dir(&self) -> PathBuf {
        self.cluster.join("current")
    }

    /// Returns the directory of containers that are being removed.
    pub(crate) fn deleted_dir(&self) -> PathBuf {
        self.cluster.join("tmp").join("deleted-containers")
    }

    /// Returns the directory of containers until they have arrived whole.
    pub fn arrivals_dir(&self) -> PathBuf {
        self.cluster.join("tmp").join("arriving-containers")
    }
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").field("id", &self.id).field("root", &self.root).finish()
    }
}
