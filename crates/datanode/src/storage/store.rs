//! All containers of a DataNode, over all its disks.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use blockio::Backend;
use container::ContainerState;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use service::Ages;
use types::{ContainerId, PipelineId, StorageType};

use super::begun::Begun;
use super::containers::{Container, InitialState, Loaded, LoadedDisk, NewContainer, load_all};
use super::disk::{self, Disk, types_for};
use super::error::{Result, StorageError};
use super::making::Making;
use super::merkle::ChecksumsDue;
use super::options::{DataDirectory, StorageOptions};
use super::pipeline::PipelineStore;
use super::relocation::Relocations;
use super::replicas::Replicas;
use super::scan::{ScanFigures, ScanKind};
use crate::deadline;

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
    containers: Replicas,
    /// Containers that were here and are lost.
    missing: Mutex<FxHashSet<ContainerId>>,
    /// Erasure-coded replicas that were here, on whichever disk.
    begun: Option<Begun>,
    /// Containers whose state SCM does not know yet.
    changed: Mutex<BTreeSet<ContainerId>>,
    /// Containers that should be closed.
    full: Mutex<Vec<ContainerId>>,
    next_disk: AtomicUsize,
    making: Making,
    relocations: Relocations,
    suspects: Mutex<Suspects>,
    /// How old transactions of deletions are.
    deletion_ages: Ages,
    checksums: ChecksumsDue,
}

impl Inner {
    /// Erasure-coded replicas that were here and are on no disk are lost. Blocks.
    fn remember_begun(&mut self) -> Result<()> {
        let Some(path) = self.options.begun.clone() else { return Ok(()) };
        let mut here = BTreeSet::new();
        self.containers.for_each(|container| {
            if container.replica_index() > 0 {
                here.insert(container.id());
            }
        });
        let (begun, lost) = Begun::open(path, &here)?;
        // Nothing can be written to them any more: SCM closes those that are open.
        self.full.get_mut().extend(&lost);
        if !lost.is_empty() {
            tracing::warn!(count = lost.len(), first = ?lost.first(), "replicas were here and are lost");
        }
        self.missing.get_mut().extend(lost);
        self.begun = Some(begun);
        Ok(())
    }

    /// A replica is about to be here.
    fn begins(&self, id: ContainerId, replica_index: i32) -> Result<()> {
        match &self.begun {
            Some(begun) if replica_index > 0 => begun.add(id),
            _ => Ok(()),
        }
    }
}

/// Replicas that are to be read whole.
#[derive(Default)]
struct Suspects {
    queue: VecDeque<ContainerId>,
    /// When a replica was last read for that.
    read: FxHashMap<ContainerId, Instant>,
}

impl ContainerStore {
    /// How old transactions of deletions are, by their numbers.
    pub(crate) fn deletion_ages(&self) -> &Ages {
        &self.inner.deletion_ages
    }

    /// Opens the disks and loads their containers. A disk that cannot be opened, or not in time, is
    /// left out, as long as there is another one. Blocks.
    ///
    /// # Errors
    /// When a directory is in use, foreign or newer, which only the operator can mend, or none can
    /// be opened.
    pub fn open(options: StorageOptions) -> Result<Self> {
        Self::open_on(options, None)
    }

    /// As [`open`](Self::open), over other backends: for tests of failing disks.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(options: StorageOptions, backends: Option<Backends<'_>>) -> Result<Self> {
        let opened = open_side_by_side(&options, backends);
        let inner = Inner {
            disks: Vec::new(),
            unopened: Vec::new(),
            suspects: Mutex::default(),
            deletion_ages: Ages::default(),
            checksums: ChecksumsDue::default(),
            containers: Replicas::default(),
            missing: Mutex::default(),
            begun: None,
            changed: Mutex::default(),
            full: Mutex::default(),
            next_disk: AtomicUsize::new(0),
            making: Making::default(),
            relocations: Relocations::default(),
            options,
        };
        let (mut inner, mut all, mut damaged, mut last) =
            (inner, Loaded::default(), Vec::new(), None);
        for (at, opened) in opened.into_iter().enumerate() {
            let (disk, loaded) = match opened {
                Ok(opened) => opened,
                Err(error @ StorageError::DataDir(_)) => return Err(error),
                Err(error) => {
                    let Some(dir) = inner.options.dirs.get(at) else { return Err(error) };
                    tracing::error!(path = %dir.path.display(), %error, "a disk cannot be opened and is left out");
                    inner.unopened.push(Unopened {
                        path: dir.path.clone(),
                        raft_dir: dir.raft_dir.clone().unwrap_or_else(|| dir.path.join("ratis")),
                        reason: error.to_string(),
                    });
                    last = Some(error);
                    continue;
                }
            };
            tracing::info!(
                disk = disk.id(), path = %disk.path().display(), engine = disk.io().engine(),
                containers = loaded.containers.len(), missing = loaded.missing.len(),
                "disk opened"
            );
            inner.disks.push(disk);
            inner.missing.get_mut().extend(loaded.missing.iter().copied());
            all.add(loaded);
        }
        for (container, damage) in all.resolve() {
            damaged.extend(damage.map(|why| (container.id(), why)));
            inner.containers.insert(container);
        }
        if let Some(error) = last.filter(|_| inner.disks.is_empty()) {
            return Err(error);
        }
        inner.remember_begun()?;
        let store = Self { inner: Arc::new(inner) };
        for (id, why) in damaged {
            store.mark_unhealthy(id, &why)?;
        }
        for container in store.all() {
            store.check_fullness(&container);
            store.checksums().note(&container);
        }
        Ok(store)
    }

    /// What it was opened with.
    pub fn options(&self) -> &StorageOptions {
        &self.inner.options
    }

    /// The disks.
    pub fn disks(&self) -> &[Arc<Disk>] {
        &self.inner.disks
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
        let Inner { disks, options, next_disk, .. } = &*self.inner;
        disk::choose(disks, types, options.choosing, needed, next_disk)
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

    /// Makes a container; says whether it was made now. Blocks when it is.
    ///
    /// # Errors
    /// When the container was here and is lost or has ended, has another replica index, or the disk
    /// fails.
    pub fn create_container(&self, new: NewContainer) -> Result<bool> {
        if let Some(there) = self.find(new.id) {
            return same_replica(&there, &new).map(|()| false);
        }
        let _claim = self.inner.making.claim(new.id);
        if let Some(there) = self.find(new.id) {
            return same_replica(&there, &new).map(|()| false);
        }
        if self.inner.missing.lock().contains(&new.id) || self.has_ended(&new) {
            return Err(StorageError::ContainerMissing(new.id));
        }
        if new.state == InitialState::Open {
            self.inner.begins(new.id, new.replica_index)?;
        }
        let options = &self.inner.options;
        let disk = match &new.disk {
            Some(disk) => Arc::clone(disk),
            None => self.choose_disk(&types_for(new.storage_type), options.container_size)?,
        };
        let origin = options.datanode.to_string();
        let container = Container::create(&new, disk, origin, options.container_size)?;
        self.inner.containers.insert(container);
        self.note_changed(new.id);
        Ok(true)
    }

    /// Whether a replica of an erasure-coded container was deleted here.
    fn has_ended(&self, new: &NewContainer) -> bool {
        let begun = self.inner.begun.as_ref().filter(|_| new.replica_index > 0);
        begun.is_some_and(|begun| begun.has_ended(new.id))
    }

    /// Takes in a container that came from another node: `move_in` puts it into its place. One that
    /// was lost here is here again. Blocks.
    pub(super) fn publish(
        &self,
        id: ContainerId,
        replica_index: i32,
        move_in: impl FnOnce() -> Result<Arc<Container>>,
    ) -> Result<()> {
        let _claim = self.inner.making.claim(id);
        if self.find(id).is_some() {
            return Err(StorageError::AlreadyHere(id));
        }
        self.inner.begins(id, replica_index)?;
        let container = move_in()?;
        self.inner.missing.lock().remove(&id);
        self.checksums().note(&container);
        self.inner.containers.insert(container);
        self.note_changed(id);
        Ok(())
    }

    /// Serves a copy on another disk instead of a replica: `move_in` puts it into its place, while
    /// neither the state nor the rows of the replica change. Blocks.
    pub(super) fn replace<T>(
        &self,
        old: &Arc<Container>,
        move_in: impl FnOnce() -> Result<(Arc<Container>, T)>,
    ) -> Result<T> {
        let id = old.id();
        let _claim = self.inner.making.claim(id);
        let _one = old.changing.lock();
        let _commit = old.commit.lock();
        let (copy, moved) = move_in()?;
        // A thread that waits for one of the locks sees by it that another replica is served.
        old.set_state(ContainerState::Deleted);
        let (from, to) = (old.disk(), Arc::clone(copy.disk()));
        let deletes = copy.sums().pending_delete > 0;
        copy.continue_counting(old);
        self.inner.missing.lock().remove(&id);
        self.checksums().note(&copy);
        self.inner.containers.insert(copy);
        self.inner.relocations.retire(old);
        from.deleting.lock().remove(&id);
        from.dirty.lock().remove(&id);
        if deletes {
            to.deleting.lock().insert(id);
        }
        // SCM is told how many blocks it has: those that are deleted were not copied.
        self.note_changed(id);
        tracing::info!(container = %id, from = from.id(), to = to.id(), "container moved to another disk");
        Ok(moved)
    }

    /// Replicas whose checksums are to be worked out.
    pub(in crate::storage) fn checksums(&self) -> &ChecksumsDue {
        &self.inner.checksums
    }

    pub(super) fn relocations(&self) -> &Relocations {
        &self.inner.relocations
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

    /// Gives the containers of a disk that has failed up: they count as lost here, until copies of
    /// them come from other nodes. Says which they are.
    pub fn leave(&self, disk: &Disk) -> Vec<ContainerId> {
        let here = |container: &Arc<Container>| container.disk().id() == disk.id();
        let left: Vec<_> = self.all().iter().filter(|c| here(c)).map(|c| c.id()).collect();
        // Missing first: no thread may make an empty one in between.
        self.inner.missing.lock().extend(left.iter().copied());
        for id in &left {
            self.inner.containers.remove_if(*id, here);
            self.inner.changed.lock().remove(id);
        }
        left
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

    pub(crate) fn all(&self) -> Vec<Arc<Container>> {
        let mut all = Vec::new();
        self.inner.containers.for_each(|container| all.push(Arc::clone(container)));
        all
    }

    /// Calls `each` with every replica. It neither asks for a replica nor changes which there are.
    pub(crate) fn for_each(&self, each: impl FnMut(&Arc<Container>)) {
        self.inner.containers.for_each(each);
    }

    /// `was` is the state that it was deleted in. One that somebody filled was never begun.
    pub(crate) fn forget(&self, container: &Arc<Container>, was: ContainerState) {
        let id = container.id();
        let ends = container.replica_index() > 0 && was != ContainerState::Recovering;
        if let Some(begun) = self.inner.begun.as_ref().filter(|_| ends && self.is_served(container))
        {
            // First: no thread may make one in between.
            begun.remove(id);
        }
        self.inner.containers.remove_if(id, |there| Arc::ptr_eq(there, container));
        self.inner.changed.lock().remove(&id);
    }

    /// Queues a replica to be read whole; says whether it was not queued, nor read lately.
    pub(crate) fn note_suspect(&self, id: ContainerId) -> bool {
        let gap = self.inner.options.scrub_min_gap;
        let mut suspects = self.inner.suspects.lock();
        let lately = suspects.read.get(&id).is_some_and(|at| at.elapsed() < gap);
        let new = !lately && !suspects.queue.contains(&id);
        if new {
            suspects.queue.push_back(id);
        }
        new
    }

    /// How many replicas wait to be read whole.
    pub fn suspects(&self) -> usize {
        self.inner.suspects.lock().queue.len()
    }

    /// What one kind of scan came to, over all disks.
    pub fn scans(&self, kind: ScanKind) -> ScanFigures {
        self.inner.disks.iter().fold(ScanFigures::default(), |sum, disk| {
            let ScanFigures { containers, bytes, damaged } = disk.scans.of(kind);
            ScanFigures {
                containers: sum.containers.saturating_add(containers),
                bytes: sum.bytes.saturating_add(bytes),
                damaged: sum.damaged.saturating_add(damaged),
            }
        })
    }

    /// The next replica that is to be read whole.
    pub fn take_suspect(&self) -> Option<ContainerId> {
        let gap = self.inner.options.scrub_min_gap;
        let mut suspects = self.inner.suspects.lock();
        suspects.read.retain(|_, at| at.elapsed() < gap);
        let id = suspects.queue.pop_front()?;
        suspects.read.insert(id, Instant::now());
        Some(id)
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

/// Opens all disks at a time: they know nothing of each other, and one that hangs holds up no
/// other. What it may still come to later is closed again.
fn open_side_by_side(
    options: &StorageOptions,
    backends: Option<Backends<'_>>,
) -> Vec<Result<(Arc<Disk>, LoadedDisk)>> {
    let deadline = Instant::now().checked_add(options.open_timeout);
    let begin = |(at, dir): (usize, &DataDirectory)| {
        let (dir, options) = (dir.clone(), options.clone());
        let backend = backends.map(|make| make(at));
        deadline::begin("open-disk", move || {
            let disk = Disk::open(&dir, &options, backend)?;
            let loaded = load_all(&disk)?;
            Ok((disk, loaded))
        })
    };
    let opening: Vec<_> = options.dirs.iter().enumerate().map(begin).collect();
    let finish = |(opening, dir): (deadline::Begun<_>, &DataDirectory)| {
        opening.wait_until(deadline).unwrap_or_else(|late| {
            let reason = format!("it does not open: {late} within {:?}", options.open_timeout);
            Err(StorageError::disk(&dir.path, reason))
        })
    };
    opening.into_iter().zip(&options.dirs).map(finish).collect()
}

fn same_replica(there: &Container, new: &NewContainer) -> Result<()> {
    let (has, asked) = (there.info().replica_index, new.replica_index);
    if has == asked { Ok(()) } else { Err(StorageError::ReplicaIndex { id: new.id, has, asked }) }
}
