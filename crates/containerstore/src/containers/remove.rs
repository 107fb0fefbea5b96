//! Removing a container's folder and rows from its disk.

use std::fs;
use std::io;
use std::path::Path;

use container::ContainerState;
use metastore::{Batch, Durability, IterRange};
use types::ContainerId;

use super::Container;
use crate::disk::Disk;
use crate::error::{Result, StorageError};
use crate::tables::{self, PER_CONTAINER};

/// Removes a container from its disk; `forget` is called when it is out of its place. False when it
/// is being removed already, or was moved to another disk. Blocks.
pub(crate) fn remove(container: &Container, forget: impl FnOnce()) -> Result<bool> {
    // Replay must not find entries that would recreate it.
    container.disk().flush()?;
    {
        let _one = container.changing.lock();
        // A row written after the removal of the others would outlive the container.
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

/// Durably moves the folder of a container to the folder of removals. The next start removes it,
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

/// Removes all rows of a container, durably.
pub(crate) fn drop_rows(disk: &Disk, id: ContainerId) -> Result<()> {
    let mut batch = Batch::new();
    for table in PER_CONTAINER {
        batch.delete_range(table, tables::prefix(id), tables::prefix_end(id));
    }
    disk.db.write(batch, Durability::NoWal)?;
    Ok(disk.db.flush()?)
}

/// Removes rows that a copy or a removed replica left on the disk, before a container is created.
pub(crate) fn drop_left_rows(disk: &Disk, id: ContainerId) -> Result<()> {
    for table in PER_CONTAINER {
        let mut cursor = disk.db.iter(table, IterRange::prefix(tables::prefix(id)))?;
        cursor.first();
        if cursor.row()?.is_some() {
            tracing::warn!(container = %id, disk = disk.id(), "removing rows of an earlier replica");
            drop(cursor);
            return drop_rows(disk, id);
        }
    }
    Ok(())
}
