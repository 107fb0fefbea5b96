//! A copy in progress: the exclusion of all else that creates its container, and its removal if it
//! is of no use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use types::ContainerId;

use super::folder::{is_unfinished, set_aside_copy};
use crate::containers::{drop_rows, remove_folder};
use crate::creation_lock::{CopyState, CreationLock};
use crate::disk::Disk;
use crate::error::{Result, StorageError};
use crate::lock_order::OrderedGuard;
use crate::store::ContainerStore;

/// A copy in progress. While there is one no other copy of the container begins here.
pub(crate) struct Copying {
    store: ContainerStore,
    id: ContainerId,
    disk: Arc<Disk>,
    state: Arc<CopyState>,
    /// It is in its place, or on the way there.
    in_place: AtomicBool,
}

impl Copying {
    /// Begins a copy on a disk.
    ///
    /// # Errors
    /// When another copy of the container is in progress.
    pub(super) fn begin(
        store: &ContainerStore,
        lock: &CreationLock<'_>,
        id: ContainerId,
        disk: &Arc<Disk>,
    ) -> Result<Arc<Self>> {
        let state = lock.add_copy(disk.id()).ok_or(StorageError::BeingMade(id))?;
        let (store, disk) = (store.clone(), Arc::clone(disk));
        let in_place = AtomicBool::new(false);
        Ok(Arc::new(Self { store, id, disk, state, in_place }))
    }

    /// Its disk.
    pub(crate) fn disk(&self) -> &Arc<Disk> {
        &self.disk
    }

    /// Locks the copy while rows of it are written. Blocks.
    ///
    /// # Errors
    /// When the container's pipeline has created it here meanwhile.
    pub(crate) fn step(&self) -> Result<OrderedGuard<'_, ()>> {
        let step = self.state.step();
        if self.has_ended() { Err(self.ended()) } else { Ok(step) }
    }

    /// Returns `true` if the container's pipeline has created it here meanwhile.
    pub(super) fn has_ended(&self) -> bool {
        self.state.has_ended()
    }

    /// Returns the error of a copy whose container was created by its pipeline.
    pub(super) fn ended(&self) -> StorageError {
        let reason = "its pipeline made the container here meanwhile".to_owned();
        StorageError::NotArrived { id: self.id, reason }
    }

    pub(crate) fn state(&self) -> &CopyState {
        &self.state
    }

    /// Its folder moves to its place.
    pub(super) fn note_in_place(&self) {
        self.in_place.store(true, Ordering::SeqCst);
    }

    /// Gives the copy up and removes its data, wherever it lies. Blocks.
    ///
    /// # Errors
    /// When the disk fails. The next start removes the rest.
    pub(crate) fn discard(&self) -> Result<()> {
        let _step = self.state.step();
        self.discard_in_step()
    }

    /// As [`discard`](Self::discard), for a thread that is in a step of the copy.
    pub(super) fn discard_in_step(&self) -> Result<()> {
        self.state.end();
        let (id, disk) = (self.id, &self.disk);
        let place = disk.container_dir(id);
        let arriving = disk.arrivals_dir().join(id.to_string());
        disk.io().forget(&arriving);
        // The rows of a replica that is served from this disk are its own.
        if !self.store.serves_from(id, disk) {
            if self.in_place.load(Ordering::SeqCst) || is_unfinished(&place)? {
                set_aside_copy(disk, id, &place)?;
            }
            // Before the folders: the next start finds the rows by them.
            drop_rows(disk, id)?;
            remove_folder(&disk.deleted_dir().join(id.to_string()))?;
        }
        remove_folder(&arriving)
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        self.store.creation_locks().remove_copy(self.id, &self.state);
    }
}
