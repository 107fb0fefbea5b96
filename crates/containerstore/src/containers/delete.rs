//! A container's end.

use std::fs;
use std::io;
use std::path::Path;

use container::ContainerState;
use types::ContainerId;

use super::{Container, drop_rows};
use crate::disk::Disk;
use crate::error::{Result, StorageError};
use crate::store::ContainerStore;

impl ContainerStore {
    /// Removes a container and its blocks. Without `force` only one that is closed and empty.
    /// Blocks.
    ///
    /// A second replica on another disk is not served until the next start: the same order may come
    /// again, and is not about that one.
    ///
    /// # Errors
    /// When it is open or not empty and there is no force behind it, or the disk fails.
    pub fn delete_container(&self, id: ContainerId, force: bool) -> Result<()> {
        self.delete_served(id, 0, force)
    }

    /// The same of the replica that is served, if it has this index; 0 for any.
    ///
    /// # Errors
    /// The same, and when it has another index.
    pub(crate) fn delete_served(&self, id: ContainerId, index: i32, force: bool) -> Result<()> {
        loop {
            let container = self.container(id)?;
            let info = container.info();
            let has = info.replica_index;
            if index != 0 && index != has {
                return Err(StorageError::ReplicaIndex { id, has, asked: index });
            }
            if !force && info.state.is_live() {
                return Err(StorageError::DeleteOnOpen(id));
            }
            if !force && info.blocks > 0 {
                return Err(StorageError::DeleteOnNonEmpty { id, blocks: info.blocks });
            }
            self.remove_retired_of(id)?;
            // To the end of it: what is made of the id meanwhile would lose its rows.
            let _lock = self.creation_locks().lock(id);
            if remove(&container, || self.forget(&container, info.state))? {
                tracing::info!(container = %id, state = %info.state, blocks = info.blocks, "container deleted");
                self.remove_older_duplicates(&info, force);
                return Ok(());
            }
            if self.is_served(&container) {
                // An earlier attempt did not come to its end.
                take_away(&container, || self.forget(&container, info.state))?;
                self.remove_older_duplicates(&info, force);
                return Ok(());
            }
            // It was moved to another disk just now.
        }
    }

    /// Removes a container that is RECOVERING, and no other. Says whether it was there. Blocks.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn delete_recovering(&self, id: ContainerId) -> Result<bool> {
        let Ok(container) = self.container(id) else { return Ok(false) };
        container.disk().flush()?;
        {
            // The client that fills it may be about to close it.
            let _one = container.changing.lock();
            if container.state() != ContainerState::Recovering {
                return Ok(false);
            }
            container.set_state(ContainerState::Deleted);
        }
        let _lock = self.creation_locks().lock(id);
        take_away(&container, || self.forget(&container, ContainerState::Recovering))?;
        tracing::info!(container = %id, "a replica that nobody finished to fill is removed");
        Ok(true)
    }
}

/// Removes a container from its disk; `forget` is called when it is out of its place. False when it
/// is being removed already, or was moved to another disk. Blocks.
pub(crate) fn remove(container: &Container, forget: impl FnOnce()) -> Result<bool> {
    // Replay must not find entries that would make it anew.
    container.disk().flush()?;
    {
        let _one = container.changing.lock();
        // A row that comes behind the removal of the others would outlive the container.
        let _commit = container.commit.lock();
        if container.state() == ContainerState::Deleted {
            return Ok(false);
        }
        container.set_state(ContainerState::Deleted);
    }
    take_away(container, forget).map(|()| true)
}

/// Removes a container that is DELETED from its disk. Blocks.
pub(crate) fn take_away(container: &Container, forget: impl FnOnce()) -> Result<()> {
    let (id, disk) = (container.id(), container.disk());
    let aside = disk.deleted_dir().join(id.to_string());
    disk.io.forget(container.path());
    set_aside(disk, container.path(), &aside)?;
    // A reader may have opened a file again in between.
    disk.io.forget(container.path());
    forget();
    disk.deleting.lock().remove(id);
    disk.dirty.lock().remove(&id);
    drop_rows(disk, id)?;
    fs::remove_dir_all(&aside).map_err(|e| StorageError::disk(&aside, e))
}

/// Moves the folder of a container to where removed ones lie, durably. The next start removes it,
/// and the rows of the container if nothing else is in its place.
pub(crate) fn set_aside(disk: &Disk, from: &Path, to: &Path) -> Result<()> {
    remove_folder(to)?;
    fs::rename(from, to).map_err(|e| StorageError::disk(from, e))?;
    [from, to].iter().filter_map(|path| path.parent()).try_for_each(|path| disk.sync_names(path))
}

/// Removes a folder, if it is there.
pub(crate) fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StorageError::disk(path, error))
        }
        _ => Ok(()),
    }
}
