//! All containers of a DataNode, over all its disks.
//!
//! [`open`]: how they are found. [`served`]: which replicas are here, and how that changes.
//! [`suspects`]: those that a scan is to read. [`duplicate_replicas`]: second replicas, which are
//! not served.

mod duplicate_replicas;
mod open;
mod served;
mod suspects;
mod unfreed_space;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use blockio::Backend;
use container::ContainerState;
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use service::Ages;
use types::{ContainerId, PipelineId, StorageType};

pub use self::duplicate_replicas::SecondReplica;
use self::suspects::Suspects;
pub(crate) use self::unfreed_space::{Freed, Place, Rows, UnfreedSpace, Work};
use crate::containers::{Container, DuplicateReplica};
use crate::creation_lock::CreationLocks;
use crate::disk::{self, Disk};
use crate::ec_replica_journal::EcReplicaJournal;
use crate::error::{Result, StorageError};
use crate::merkle::ChecksumsDue;
use crate::options::StorageOptions;
use crate::pipeline::PipelineStore;
use crate::relocation::Relocations;
use crate::replicas::Replicas;
use crate::scan_history::{ScanKind, ScanStats};

/// Makes the I/O backend of each disk, by the disk's place in the options.
pub type Backends<'a> = &'a (dyn Fn(usize) -> Box<dyn Backend> + Sync);

/// A data directory that could not be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unopened {
    /// The directory.
    pub path: PathBuf,
    /// Where its Raft log lies.
    pub raft_dir: PathBuf,
    /// Why.
    pub reason: String,
}

/// All containers of a DataNode, over all its disks. Clones share them.
#[derive(Clone)]
pub struct ContainerStore {
    inner: Arc<Inner>,
}

struct Inner {
    options: StorageOptions,
    disks: Vec<Arc<Disk>>,
    unopened: Vec<Unopened>,
    /// Of each disk, in their order.
    unfreed_space: Vec<Mutex<UnfreedSpace>>,
    containers: Replicas,
    /// Replicas of some of them on other disks, which are not served.
    duplicates: Mutex<Vec<DuplicateReplica>>,
    /// Containers that were here and are lost.
    missing: Mutex<FxHashSet<ContainerId>>,
    /// Erasure-coded replicas that were here, on whichever disk.
    ec_replicas: Option<EcReplicaJournal>,
    /// Containers whose state SCM does not know yet.
    changed: Mutex<BTreeSet<ContainerId>>,
    /// Containers that should be closed.
    full: Mutex<Vec<ContainerId>>,
    next_disk: AtomicUsize,
    creation_locks: CreationLocks,
    relocations: Relocations,
    suspects: Mutex<Suspects>,
    /// How old transactions of deletions are.
    deletion_ages: Ages,
    checksums: ChecksumsDue,
}

impl Inner {
    /// A replica is about to be here.
    fn begins(&self, id: ContainerId, replica_index: i32) -> Result<()> {
        match &self.ec_replicas {
            Some(journal) if replica_index > 0 => journal.add(id),
            _ => Ok(()),
        }
    }
}

impl ContainerStore {
    /// How old transactions of deletions are, by their numbers.
    pub fn deletion_ages(&self) -> &Ages {
        &self.inner.deletion_ages
    }

    /// What it was opened with.
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
    ) -> impl Iterator<Item = (&Arc<Disk>, &Mutex<UnfreedSpace>)> {
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

    /// A disk with room for `needed` bytes more, in turn: one of the first of these storage types
    /// that has such a disk.
    ///
    /// # Errors
    /// When none has.
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

    /// Whether the disks are of several storage types.
    pub fn has_several_types(&self) -> bool {
        let mut types = self.inner.disks.iter().map(|disk| disk.storage_type());
        let first = types.next();
        types.any(|of| Some(of) != first)
    }

    /// Opens a pipeline's part of a disk, making it if it is new.
    ///
    /// # Errors
    /// When the pipeline left its positions on another disk.
    pub fn open_pipeline(&self, id: PipelineId, disk: &Arc<Disk>) -> Result<PipelineStore> {
        let elsewhere = self
            .inner
            .disks
            .iter()
            .find(|other| other.id() != disk.id() && other.pipelines.lock().contains_key(&id));
        if let Some(other) = elsewhere {
            let why = format!("pipeline {id} is on disk {}", other.id());
            return Err(StorageError::Disk { path: disk.path().to_owned(), reason: why });
        }
        Ok(PipelineStore::open(self.clone(), Arc::clone(disk), id))
    }

    /// Replicas whose checksums are to be worked out.
    pub(crate) fn checksums(&self) -> &ChecksumsDue {
        &self.inner.checksums
    }

    pub(crate) fn relocations(&self) -> &Relocations {
        &self.inner.relocations
    }

    /// Containers that are being made.
    pub(crate) fn creation_locks(&self) -> &CreationLocks {
        &self.inner.creation_locks
    }

    /// Whether this very replica is the one that is served.
    pub(crate) fn is_served(&self, container: &Arc<Container>) -> bool {
        self.find(container.id()).is_some_and(|there| Arc::ptr_eq(&there, container))
    }

    /// Changes rows of a container, whose commit lock is held meanwhile: of the replica that is
    /// served, also when it was moved to another disk just now. Blocks.
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

    /// How many replicas are UNHEALTHY.
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

    /// May a leader admit a write to this container? One that is not here will be made.
    ///
    /// # Errors
    /// When it is here and takes no new writes, or its disk is full.
    pub fn check_writable(&self, id: ContainerId) -> Result<()> {
        match self.container(id) {
            Ok(container) => match container.state() {
                state if state.admits_writes() => container.disk().check_room(0),
                state => Err(StorageError::NotWritable { id, state }),
            },
            Err(StorageError::ContainerNotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Containers that crossed the share of their size at which they should be closed, since this
    /// was last asked.
    pub fn take_full(&self) -> Vec<ContainerId> {
        std::mem::take(&mut *self.inner.full.lock())
    }

    /// Makes everything applied durable, on all disks that work. Blocks.
    ///
    /// # Errors
    /// When a disk fails.
    pub fn flush_all(&self) -> Result<()> {
        let working = self.inner.disks.iter().filter(|disk| disk.failure().is_none());
        // All of them, whichever fails.
        let flushed: Vec<Result<()>> = working.map(|disk| disk.flush()).collect();
        flushed.into_iter().collect()
    }

    pub(crate) fn find(&self, id: ContainerId) -> Option<Arc<Container>> {
        self.inner.containers.get(id)
    }

    /// Forgets chunk writes, of containers that no pipeline replicates, whose writers went away:
    /// blocks that nothing was written to since `before`.
    pub fn forget_idle(&self, before: Instant) {
        self.inner.containers.for_each(|container| container.forget_idle_writes(before));
    }

    /// All containers, in no order.
    pub fn all(&self) -> Vec<Arc<Container>> {
        let mut all = Vec::new();
        self.inner.containers.for_each(|container| all.push(Arc::clone(container)));
        all
    }

    /// Calls `each` with every replica. It neither asks for a replica nor changes which there are.
    pub(crate) fn for_each(&self, each: impl FnMut(&Arc<Container>)) {
        self.inner.containers.for_each(each);
    }

    /// What one kind of scan came to, over all disks.
    pub fn scans(&self, kind: ScanKind) -> ScanStats {
        self.inner.disks.iter().fold(ScanStats::default(), |sum, disk| {
            let ScanStats { containers, bytes, damaged } = disk.scans.of(kind);
            ScanStats {
                containers: sum.containers.saturating_add(containers),
                bytes: sum.bytes.saturating_add(bytes),
                damaged: sum.damaged.saturating_add(damaged),
            }
        })
    }

    pub(crate) fn note_changed(&self, id: ContainerId) {
        self.inner.changed.lock().insert(id);
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
        let full = info.state.admits_writes() && info.used as f64 >= bound;
        if full && !container.full.swap(true, Ordering::Relaxed) {
            self.inner.full.lock().push(info.id);
        }
    }
}
