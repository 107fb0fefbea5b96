//! All containers of a DataNode, over all its disks.
//!
//! The store contains the replicas and the pending work on them; the modules above carry it out.
//!
//! * [`replicas`]: served replicas; [`duplicate_replicas`]: second ones, which are not served;
//! * [`suspects`]: replicas that a scan must read;
//! * [`checksums_due`]: replicas whose checksums must be computed;
//! * [`relocations`]: replicas that are moved to another disk, and sources of finished moves;
//! * [`unfreed_space`]: the space of deleted blocks that waits for a flush.

mod checksums_due;
mod duplicate_replicas;
mod relocations;
mod replicas;
mod suspects;
mod unfreed_space;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use container::ContainerState;
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use service::Ages;
use types::{ContainerId, PipelineId, StorageType};

use self::checksums_due::ChecksumsDue;
pub(crate) use self::duplicate_replicas::DuplicateReplica;
pub use self::duplicate_replicas::SecondReplica;
pub(crate) use self::relocations::{RelocationClaim, Relocations, Retired};
use self::replicas::Replicas;
use self::suspects::Suspects;
pub(crate) use self::unfreed_space::{Freed, Place, Rows, UnfreedSpace, Work};
use crate::containers::Container;
use crate::creation_lock::CreationLocks;
use crate::disk::{self, Disk};
use crate::ec_replica_journal::EcReplicaJournal;
use crate::error::{Result, StorageError};
use crate::lock_order::{OrderedMutex, Rank};
use crate::options::StorageOptions;

/// A data directory that could not be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unopened {
    /// The directory.
    pub path: PathBuf,
    /// Directory of its Raft log.
    pub raft_dir: PathBuf,
    /// The reason.
    pub reason: String,
}

/// All containers of a DataNode, over all its disks. Clones share them.
#[derive(Clone)]
pub struct ContainerStore {
    inner: Arc<Inner>,
}

/// Initial parts of a store.
pub(crate) struct StoreParts {
    pub options: StorageOptions,
    pub disks: Vec<Arc<Disk>>,
    pub unopened: Vec<Unopened>,
    /// The replicas that are served.
    pub replicas: Replicas,
    /// Replicas of some of them on other disks, which are not served.
    pub duplicates: Vec<DuplicateReplica>,
    /// Containers that were here and are lost.
    pub missing: FxHashSet<ContainerId>,
    /// Containers that should be closed.
    pub full: Vec<ContainerId>,
    /// Erasure-coded replicas that were here, on whichever disk.
    pub ec_replicas: Option<EcReplicaJournal>,
}

impl StoreParts {
    /// Without disks.
    pub fn new(options: StorageOptions) -> Self {
        Self {
            options,
            disks: Vec::new(),
            unopened: Vec::new(),
            replicas: Replicas::default(),
            duplicates: Vec::new(),
            missing: FxHashSet::default(),
            full: Vec::new(),
            ec_replicas: None,
        }
    }
}

struct Inner {
    options: StorageOptions,
    disks: Vec<Arc<Disk>>,
    unopened: Vec<Unopened>,
    /// Of each disk, in their order.
    unfreed_space: Vec<OrderedMutex<UnfreedSpace>>,
    containers: Replicas,
    /// Replicas of some of them on other disks, which are not served.
    duplicates: Mutex<Vec<DuplicateReplica>>,
    /// Containers that were here and are lost.
    missing: Mutex<FxHashSet<ContainerId>>,
    /// Erasure-coded replicas that were here, on whichever disk.
    ec_replicas: Option<EcReplicaJournal>,
    /// Containers whose state is not reported to SCM yet.
    changed: Mutex<BTreeSet<ContainerId>>,
    /// Containers that should be closed.
    full: Mutex<Vec<ContainerId>>,
    next_disk: AtomicUsize,
    creation_locks: CreationLocks,
    relocations: Relocations,
    suspects: Mutex<Suspects>,
    /// Ages of transactions of deletions.
    deletion_ages: Ages,
    checksums: ChecksumsDue,
}

impl ContainerStore {
    pub(crate) fn new(parts: StoreParts) -> Self {
        let StoreParts {
            options,
            disks,
            unopened,
            replicas,
            duplicates,
            missing,
            full,
            ec_replicas,
        } = parts;
        let unfreed = |_| OrderedMutex::of_disk(Rank::UnfreedSpace, UnfreedSpace::default());
        let unfreed_space = disks.iter().map(unfreed).collect();
        let inner = Inner {
            options,
            disks,
            unopened,
            unfreed_space,
            containers: replicas,
            duplicates: Mutex::new(duplicates),
            missing: Mutex::new(missing),
            ec_replicas,
            changed: Mutex::default(),
            full: Mutex::new(full),
            next_disk: AtomicUsize::new(0),
            creation_locks: CreationLocks::default(),
            relocations: Relocations::default(),
            suspects: Mutex::default(),
            deletion_ages: Ages::default(),
            checksums: ChecksumsDue::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the ages of transactions of deletions, by their numbers.
    pub fn deletion_ages(&self) -> &Ages {
        &self.inner.deletion_ages
    }

    /// Returns the options of its opening.
    pub fn options(&self) -> &StorageOptions {
        &self.inner.options
    }

    /// The disks.
    pub fn disks(&self) -> &[Arc<Disk>] {
        &self.inner.disks
    }

    /// The disks, each with the space of deleted blocks that waits for a flush of it.
    pub(crate) fn disks_with_unfreed_space(
        &self,
    ) -> impl Iterator<Item = (&Arc<Disk>, &OrderedMutex<UnfreedSpace>)> {
        self.inner.disks.iter().zip(&self.inner.unfreed_space)
    }

    /// Data directories that could not be opened.
    pub fn unopened(&self) -> &[Unopened] {
        &self.inner.unopened
    }

    /// A disk by its storage id.
    pub fn disk(&self, id: &str) -> Option<Arc<Disk>> {
        self.inner.disks.iter().find(|disk| disk.id() == id).cloned()
    }

    /// Chooses a disk with space for `needed` bytes more, in turn: one of the first of these
    /// storage types that has such a disk.
    ///
    /// # Errors
    /// When no disk has enough space.
    pub fn choose_disk(&self, types: &[StorageType], needed: u64) -> Result<Arc<Disk>> {
        self.choose_disk_that(types, needed, |_| true)
    }

    /// The same of the disks that `may` take it.
    pub(crate) fn choose_disk_that(
        &self,
        types: &[StorageType],
        needed: u64,
        may: impl Fn(&Disk) -> bool,
    ) -> Result<Arc<Disk>> {
        let Inner { disks, options, next_disk, .. } = &*self.inner;
        disk::choose(disks, types, options.choosing, needed, next_disk, may)
    }

    /// Returns `true` if the disks are of several storage types.
    pub fn has_several_types(&self) -> bool {
        let mut types = self.inner.disks.iter().map(|disk| disk.storage_type());
        let first = types.next();
        types.any(|of| Some(of) != first)
    }

    /// Replicas whose checksums are to be worked out.
    pub(crate) fn checksums(&self) -> &ChecksumsDue {
        &self.inner.checksums
    }

    /// The replicas that are served.
    pub(crate) fn replicas(&self) -> &Replicas {
        &self.inner.containers
    }

    /// Replicas of some of them on other disks, which are not served.
    pub(crate) fn duplicates(&self) -> &Mutex<Vec<DuplicateReplica>> {
        &self.inner.duplicates
    }

    /// Containers that were here and are lost.
    pub(crate) fn missing(&self) -> &Mutex<FxHashSet<ContainerId>> {
        &self.inner.missing
    }

    /// The journal that a replica of this index is in, if it is an erasure-coded one.
    pub(crate) fn journal_of(&self, replica_index: i32) -> Option<&EcReplicaJournal> {
        self.inner.ec_replicas.as_ref().filter(|_| replica_index > 0)
    }

    /// Records that a replica is about to be created here.
    pub(crate) fn note_begun(&self, id: ContainerId, replica_index: i32) -> Result<()> {
        self.journal_of(replica_index).map_or(Ok(()), |journal| journal.add(id))
    }

    /// Returns the replicas that are moved to another disk, and the sources of finished moves.
    pub(crate) fn relocations(&self) -> &Relocations {
        &self.inner.relocations
    }

    /// Containers that are being created.
    pub(crate) fn creation_locks(&self) -> &CreationLocks {
        &self.inner.creation_locks
    }

    /// Returns `true` if this very replica is the one that is served.
    pub(crate) fn is_served(&self, container: &Arc<Container>) -> bool {
        self.find(container.id()).is_some_and(|there| Arc::ptr_eq(&there, container))
    }

    /// Changes rows of a container and holds its commit lock meanwhile: of the served replica, also
    /// if it was moved to another disk just now. Blocks.
    pub(crate) fn with_rows<T>(
        &self,
        id: ContainerId,
        change: impl FnOnce(&Arc<Container>) -> Result<T>,
    ) -> Result<T> {
        loop {
            let container = self.container(id)?;
            let commit = container.commit.lock();
            if container.state() != ContainerState::Deleted {
                return change(&container);
            }
            drop(commit);
            if self.is_served(&container) {
                // It is being removed.
                return Err(StorageError::ContainerNotFound(id));
            }
        }
    }

    /// A container.
    ///
    /// # Errors
    /// When it is not here, or lost.
    pub fn container(&self, id: ContainerId) -> Result<Arc<Container>> {
        self.find(id).ok_or_else(|| match self.inner.missing.lock().contains(&id) {
            true => StorageError::ContainerMissing(id),
            false => StorageError::ContainerNotFound(id),
        })
    }

    /// All containers here, in order.
    pub fn containers(&self) -> Vec<ContainerId> {
        self.inner.containers.ids()
    }

    /// Returns the number of replicas that are UNHEALTHY.
    pub fn unhealthy(&self) -> usize {
        let mut unhealthy = 0;
        self.inner.containers.for_each(|container| {
            unhealthy += usize::from(container.state() == ContainerState::Unhealthy);
        });
        unhealthy
    }

    pub(crate) fn containers_of(&self, pipeline: PipelineId) -> Vec<ContainerId> {
        self.inner.containers.of_pipeline(pipeline)
    }

    /// Returns the containers that crossed the share of their size at which they should be closed,
    /// since the last call.
    pub fn take_full(&self) -> Vec<ContainerId> {
        std::mem::take(&mut *self.inner.full.lock())
    }

    /// Makes everything applied durable, on all disks that work. Blocks.
    ///
    /// # Errors
    /// When a disk fails.
    pub fn flush_all(&self) -> Result<()> {
        let working = self.inner.disks.iter().filter(|disk| disk.failure().is_none());
        // Flushes all of them, whichever fails.
        let flushed: Vec<Result<()>> = working.map(|disk| disk.flush()).collect();
        flushed.into_iter().collect()
    }

    pub(crate) fn find(&self, id: ContainerId) -> Option<Arc<Container>> {
        self.inner.containers.get(id)
    }

    /// Forgets chunk writes, of containers that no pipeline replicates, of inactive writers: blocks
    /// without a write since `before`.
    pub fn forget_idle(&self, before: Instant) {
        self.inner.containers.for_each(|container| container.forget_idle_writes(before));
    }

    /// All containers, in no order.
    pub fn all(&self) -> Vec<Arc<Container>> {
        let mut all = Vec::new();
        self.inner.containers.for_each(|container| all.push(Arc::clone(container)));
        all
    }

    /// Calls `each` with every replica. `each` must neither read nor change the set of replicas.
    pub(crate) fn for_each(&self, each: impl FnMut(&Arc<Container>)) {
        self.inner.containers.for_each(each);
    }

    pub(crate) fn note_changed(&self, id: ContainerId) {
        self.inner.changed.lock().insert(id);
    }

    /// A removed replica is not reported.
    pub(crate) fn forget_change(&self, id: ContainerId) {
        self.inner.changed.lock().remove(&id);
    }

    pub(crate) fn drain_changed(&self) -> BTreeSet<ContainerId> {
        std::mem::take(&mut *self.inner.changed.lock())
    }

    pub(crate) fn check_fullness(&self, container: &Container) {
        if container.full.load(Ordering::Relaxed) {
            return;
        }
        let info = container.info();
        let bound = info.max_size as f64 * self.inner.options.close_threshold;
        let is_over = info.used as f64 >= bound || container.has_many_notes();
        let full = info.state.admits_writes() && is_over;
        if full && !container.full.swap(true, Ordering::Relaxed) {
            self.inner.full.lock().push(info.id);
        }
    }
}
