//! A container's end.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use container::ContainerState;
use types::ContainerId;

use super::drop_rows;
use crate::storage::error::{Result, StorageError};
use crate::storage::store::ContainerStore;

impl ContainerStore {
    /// Removes a container and its blocks. Without `force` only one that is closed and empty.
    /// Blocks.
    ///
    /// # Errors
    /// When it is open or not empty and there is no force behind it, or the disk fails.
    pub fn delete_container(&self, id: ContainerId, force: bool) -> Result<()> {
        let container = self.container(id)?;
        let info = container.info();
        if !force && info.state.is_live() {
            return Err(StorageError::DeleteOnOpen(id));
        }
        if !force && info.blocks > 0 {
            return Err(StorageError::DeleteOnNonEmpty { id, blocks: info.blocks });
        }
        let disk = container.disk();
        // Replay must not find entries that would make it anew.
        disk.flush()?;
        {
            let _one = container.changing.lock();
            container.set_state(ContainerState::Deleted);
        }
        let aside = disk.deleted_dir().join(id.to_string());
        disk.io.forget(container.path());
        set_aside(container.path(), &aside).map_err(|e| StorageError::disk(container.path(), e))?;
        // A reader may have opened a file again in between.
        disk.io.forget(container.path());
        self.forget(id);
        disk.deleting.lock().remove(&id);
        disk.dirty.lock().remove(&id);
        drop_rows(disk, id)?;
        fs::remove_dir_all(&aside).map_err(|e| StorageError::disk(&aside, e))?;
        tracing::info!(container = %id, state = %info.state, blocks = info.blocks, "container deleted");
        Ok(())
    }
}

/// Moves a directory, durably.
fn set_aside(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::rename(from, to)?;
    for path in [from, to] {
        if let Some(parent) = path.parent() {
            File::open(parent)?.sync_all()?;
        }
    }
    Ok(())
}
