//! One data directory: lock, VERSION, database, executor, and the positions of its pipelines.
//!
//! ```text
//! <dir>/hdds/VERSION, in_use.lock
//! <dir>/hdds/<clusterID>/DS-<uuid>/container.db/
//! <dir>/hdds/<clusterID>/current/containerDir<N>/<containerID>/{metadata,chunks}/
//! <dir>/hdds/<clusterID>/tmp/{deleted,arriving}-containers/
//! <dir>/ratis/                                   the Raft log, unless placed elsewhere
//! ```

mod flush;
mod open;
mod space;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use metastore::Store;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use service::DataDir;
use types::{ContainerId, PipelineId};

pub(crate) use open::sweep;
pub use space::Space;
pub(crate) use space::choose;

use super::containers::Container;
use super::pipeline::Reached;

/// One disk.
pub struct Disk {
    id: String,
    /// `<dir>/hdds`.
    root: PathBuf,
    /// `<dir>/hdds/<clusterID>`.
    cluster: PathBuf,
    raft_dir: PathBuf,
    pub(crate) db: Store,
    pub(crate) io: blockio::Disk,
    space: space::Gauge,
    /// How far the disk's pipelines are.
    pub(crate) pipelines: Mutex<FxHashMap<PipelineId, Reached>>,
    /// Containers with bytes that are not durable yet.
    pub(crate) dirty: Mutex<FxHashMap<ContainerId, Weak<Container>>>,
    /// Packed bytes in memory.
    pub(crate) pending: AtomicUsize,
    pub(crate) pending_bound: usize,
    /// Containers with deletion transactions to carry out.
    pub(crate) deleting: Mutex<BTreeSet<ContainerId>>,
    /// One flush at a time.
    flushing: Mutex<()>,
    _lock: DataDir,
}

impl Disk {
    /// The disk's storage id, `DS-<uuid>`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The directory in use: `<dir>/hdds`.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Where the disk's Raft log lies.
    pub fn raft_dir(&self) -> &Path {
        &self.raft_dir
    }

    /// The disk's executor, for its figures.
    pub fn io(&self) -> &blockio::Disk {
        &self.io
    }

    /// The disk's database, for its figures.
    pub fn database(&self) -> &Store {
        &self.db
    }

    /// Packed bytes that wait in memory to be written.
    pub fn pending_bytes(&self) -> usize {
        self.pending.load(Ordering::Relaxed)
    }

    /// Pipelines that left positions on this disk.
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

    /// Where containers go to be removed.
    pub(crate) fn deleted_dir(&self) -> PathBuf {
        self.cluster.join("tmp").join("deleted-containers")
    }

    /// Where containers are until they have come whole.
    pub(crate) fn arrivals_dir(&self) -> PathBuf {
        self.cluster.join("tmp").join("arriving-containers")
    }

    /// Notes that a container has bytes that a flush must make durable.
    pub(crate) fn mark_dirty(&self, container: &Arc<Container>) {
        self.dirty.lock().entry(container.id()).or_insert_with(|| Arc::downgrade(container));
    }
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").field("id", &self.id).field("root", &self.root).finish()
    }
}
