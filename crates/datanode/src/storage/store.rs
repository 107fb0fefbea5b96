//! All containers of a DataNode, over all its disks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use blockio::Backend;
use dashmap::DashMap;
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashSet};
use types::{ContainerId, PipelineId};

use super::containers::{Container, LoadedDisk, NewContainer, load_all};
use super::disk::{self, Disk};
use super::error::{Result, StorageError};
use super::making::Making;
use super::options::{DataDirectory, StorageOptions};
use super::pipeline::PipelineStore;

/// Makes the I/O backend of each disk, by the disk's place in the options.
pub type Backends<'a> = &'a (dyn Fn(usize) -> Box<dyn Backend> + Sync);

/// All containers of a DataNode, over all its disks. Clones share them.
#[derive(Clone)]
pub struct ContainerStore {
    inner: Arc<Inner>,
}

struct Inner {
    options: StorageOptions,
    disks: Vec<Arc<Disk>>,
    containers: DashMap<ContainerId, Arc<Container>, FxBuildHasher>,
    /// Containers that were here and are lost.
    missing: Mutex<FxHashSet<ContainerId>>,
    /// Containers whose state SCM does not know yet.
    changed: Mutex<BTreeSet<ContainerId>>,
    /// Containers that should be closed.
    full: Mutex<Vec<ContainerId>>,
    turn: AtomicUsize,
    making: Making,
}

impl ContainerStore {
    /// Opens all disks and loads their containers. Blocks.
    ///
    /// # Errors
    /// When a directory is in use, foreign, newer or unreadable.
    pub fn open(options: StorageOptions) -> Result<Self> {
        Self::open_on(options, None)
    }

    /// As [`open`](Self::open), over other backends: for tests of failing disks.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(options: StorageOptions, backends: Option<Backends<'_>>) -> Result<Self> {
        let open = |(at, dir): (usize, &DataDirectory)| -> Result<(Arc<Disk>, LoadedDisk)> {
            let disk = Disk::open(dir, &options, backends.map(|make| make(at)))?;
            let loaded = load_all(&disk)?;
            Ok((disk, loaded))
        };
        // Disks know nothing of each other and are opened side by side.
        let opened: Vec<Result<_>> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                options.dirs.iter().enumerate().map(|dir| scope.spawn(move || open(dir))).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
                Ok(opened) => opened,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            threads.into_iter().map(join).collect()
        });
        let inner = Inner {
            disks: Vec::new(),
            containers: DashMap::default(),
            missing: Mutex::default(),
            changed: Mutex::default(),
            full: Mutex::default(),
            turn: AtomicUsize::new(0),
            making: Making::default(),
            options,
        };
        let (mut inner, mut damaged) = (inner, Vec::new());
        for opened in opened {
            let (disk, loaded) = opened?;
            tracing::info!(
                disk = disk.id(), path = %disk.path().display(), engine = disk.io().engine(),
                containers = loaded.containers.len(), missing = loaded.missing.len(),
                "disk opened"
            );
            inner.disks.push(disk);
            inner.missing.get_mut().extend(loaded.missing);
            damaged.extend(loaded.damaged);
            for container in loaded.containers {
                inner.containers.insert(container.id(), container);
            }
        }
        let store = Self { inner: Arc::new(inner) };
        for (id, why) in damaged {
            store.mark_unhealthy(id, &why)?;
        }
        for container in store.all() {
            store.look_at_fullness(&container);
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

    /// A disk by its storage id.
    pub fn disk(&self, id: &str) -> Option<Arc<Disk>> {
        self.inner.disks.iter().find(|disk| disk.id() == id).cloned()
    }

    /// A disk with room for `needed` bytes more, in turn.
    ///
    /// # Errors
    /// When none has.
    pub fn choose_disk(&self, needed: u64) -> Result<Arc<Disk>> {
        disk::choose(&self.inner.disks, self.inner.options.choosing, needed, &self.inner.turn)
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
    /// When the container was here and is lost, has another replica index, or the disk fails.
    pub fn create_container(&self, new: NewContainer) -> Result<bool> {
        if let Some(there) = self.find(new.id) {
            return same_replica(&there, &new).map(|()| false);
        }
        let _claim = self.inner.making.claim(new.id);
        if let Some(there) = self.find(new.id) {
            return same_replica(&there, &new).map(|()| false);
        }
        if self.inner.missing.lock().contains(&new.id) {
            return Err(StorageError::ContainerMissing(new.id));
        }
        let options = &self.inner.options;
        let disk = match &new.disk {
            Some(disk) => Arc::clone(disk),
            None => self.choose_disk(options.container_size)?,
        };
        let origin = options.datanode.to_string();
        let container = Container::create(&new, disk, origin, options.container_size)?;
        self.inner.containers.insert(new.id, container);
        self.note_changed(new.id);
        Ok(true)
    }

    /// Takes in a container that came from another node: `move_in` puts it into its place. One that was lost here is
    /// here again. Blocks.
    pub(super) fn publish(
        &self,
        id: ContainerId,
        move_in: impl FnOnce() -> Result<Arc<Container>>,
    ) -> Result<()> {
        let _claim = self.inner.making.claim(id);
        if self.find(id).is_some() {
            return Err(StorageError::AlreadyHere(id));
        }
        let container = move_in()?;
        self.inner.missing.lock().remove(&id);
        self.inner.containers.insert(id, container);
        self.note_changed(id);
        Ok(())
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
        let mut ids: Vec<_> = self.inner.containers.iter().map(|entry| *entry.key()).collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) fn containers_of(&self, pipeline: PipelineId) -> Vec<ContainerId> {
        let of = |container: &Arc<Container>| container.pipeline() == Some(pipeline);
        let mut ids: Vec<_> = self.all().iter().filter(|c| of(c)).map(|c| c.id()).collect();
        ids.sort_unstable();
        ids
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

    /// Makes everything applied durable, on all disks. Blocks.
    ///
    /// # Errors
    /// When a disk fails.
    pub fn flush_all(&self) -> Result<()> {
        self.inner.disks.iter().try_for_each(|disk| disk.flush())
    }

    pub(crate) fn find(&self, id: ContainerId) -> Option<Arc<Container>> {
        self.inner.containers.get(&id).map(|entry| Arc::clone(entry.value()))
    }

    pub(crate) fn all(&self) -> Vec<Arc<Container>> {
        self.inner.containers.iter().map(|entry| Arc::clone(entry.value())).collect()
    }

    pub(crate) fn forget(&self, id: ContainerId) {
        self.inner.containers.remove(&id);
        self.inner.changed.lock().remove(&id);
    }

    pub(crate) fn note_changed(&self, id: ContainerId) {
        self.inner.changed.lock().insert(id);
    }

    pub(crate) fn drain_changed(&self) -> BTreeSet<ContainerId> {
        std::mem::take(&mut *self.inner.changed.lock())
    }

    pub(crate) fn look_at_fullness(&self, container: &Container) {
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

fn same_replica(there: &Container, new: &NewContainer) -> Result<()> {
    let (has, asked) = (there.info().replica_index, new.replica_index);
    if has == asked { Ok(()) } else { Err(StorageError::ReplicaIndex { id: new.id, has, asked }) }
}
