//! Second replicas, of containers of which another replica is served from another disk: each stays
//! as it is until SCM has one of the two removed.

use std::sync::Arc;

use container::ContainerState;
use types::ContainerId;

use crate::containers::{Container, ContainerInfo, remove, take_away};
use crate::disk::{ANY_TRANSACTION, Disk};
use crate::error::{Result, StorageError};
use crate::store::{ContainerStore, DuplicateReplica};

impl ContainerStore {
    /// Removes the replica of this index, by SCM's order: the one that is served, or one that is
    /// not. No index (0) means the one that is served: SCM has a report of it. Without `force` only
    /// one that is closed and empty. Blocks.
    ///
    /// # Errors
    /// When there is none of that index, it is open or not empty and `force` is false, or the disk
    /// fails.
    pub fn delete_replica(&self, id: ContainerId, index: i32, force: bool) -> Result<()> {
        let has = self.container(id)?.replica_index();
        if index == 0 || index == has {
            return self.delete_served(id, index, force);
        }
        let _lock = self.creation_locks().lock(id);
        let is_meant = |duplicate: &&DuplicateReplica| {
            duplicate.container.id() == id && duplicate.container.replica_index() == index
        };
        let meant = self.duplicates().lock().iter().find(is_meant).map(|t| t.container.clone());
        let meant = meant.ok_or(StorageError::ReplicaIndex { id, has, asked: index })?;
        let info = meant.info();
        if !force && info.state.is_live() {
            return Err(StorageError::DeleteOnOpen(id));
        }
        if !force && info.blocks > 0 {
            return Err(StorageError::DeleteOnNonEmpty { id, blocks: info.blocks });
        }
        self.remove_duplicate(&meant)?;
        tracing::info!(container = %id, index, disk = meant.disk().id(), "deleting a second replica");
        Ok(())
    }

    /// Removes a second replica from its disk. The caller has the creation lock of its container.
    fn remove_duplicate(&self, duplicate: &Arc<Container>) -> Result<()> {
        let forget = || {
            self.duplicates().lock().retain(|other| !Arc::ptr_eq(&other.container, duplicate));
        };
        if !remove(duplicate, forget)? {
            // An earlier attempt did not finish.
            take_away(duplicate, forget)?;
        }
        Ok(())
    }

    /// Removes second replicas of a container after an empty replica of it was removed permanently:
    /// their additional blocks were deleted while their disk was away, and would come back.
    pub(crate) fn remove_older_duplicates(&self, removed: &ContainerInfo, force: bool) {
        // With `force` the removed one may have had blocks: that proves nothing about the others.
        if force || removed.state != ContainerState::Closed {
            return;
        }
        let is_older = |duplicate: &&DuplicateReplica| {
            let info = duplicate.container.info();
            info.id == removed.id
                && info.replica_index == removed.replica_index
                && info.bcsid <= removed.bcsid
                && info.delete_tx <= removed.delete_tx
        };
        let older: Vec<_> =
            self.duplicates().lock().iter().filter(is_older).map(|t| t.container.clone()).collect();
        for duplicate in older {
            let (id, disk) = (removed.id, duplicate.disk().id());
            match self.remove_duplicate(&duplicate) {
                Ok(()) => {
                    tracing::info!(container = %id, disk, "deleting an older second replica");
                }
                Err(error) => {
                    tracing::error!(container = %id, disk, %error, "cannot remove a second replica");
                }
            }
        }
    }

    /// Serves the second replica of a container whose first one is not here any more, if there is
    /// one. SCM receives a report of it as of a new one. Blocks.
    pub(crate) fn serve_duplicate(&self, id: ContainerId) -> bool {
        let duplicate = {
            let mut duplicates = self.duplicates().lock();
            // One whose removal failed is removed by the next order, or counts again at the next
            // start.
            let is_whole = |duplicate: &DuplicateReplica| {
                let container = &duplicate.container;
                container.id() == id && container.state() != ContainerState::Deleted
            };
            let Some(at) = duplicates.iter().position(is_whole) else { return false };
            duplicates.swap_remove(at)
        };
        let DuplicateReplica { container, damage, .. } = duplicate;
        let disk = container.disk();
        tracing::warn!(
            container = %id, disk = disk.id(), index = container.replica_index(), state = %container.state(),
            "serving the second replica of a container from now on"
        );
        if let Err(error) = self.note_begun(id, container.replica_index()) {
            tracing::warn!(container = %id, %error, "cannot record a replica in the journal");
        }
        if container.info().pending_delete > 0 {
            disk.deleting.lock().add(id, ANY_TRANSACTION);
        }
        // Served first: no thread may make an empty one in between.
        self.replicas().insert(container.clone());
        self.missing().lock().remove(&id);
        self.check_fullness(&container);
        self.checksums().note(&container);
        self.note_changed(id);
        let is_known = container.state() == ContainerState::Unhealthy;
        if let Some(damage) = damage.filter(|_| !is_known)
            && let Err(error) = self.mark_damaged(&container, &damage)
        {
            tracing::error!(container = %id, %error, "cannot mark a damaged replica UNHEALTHY");
        }
        true
    }

    /// Forgets the second replicas of a disk that has failed.
    pub(super) fn leave_duplicates(&self, disk: &Disk) {
        self.duplicates().lock().retain(|duplicate| duplicate.container.disk().id() != disk.id());
    }
}
