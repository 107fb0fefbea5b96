//! Folders of copies: the marker of one that is not whole, and how that is put aside.

use std::path::Path;

use types::ContainerId;

use crate::containers;
use crate::disk::Disk;
use crate::error::{Result, StorageError};

/// Name of the marker, in the folder `metadata` of a container.
pub(super) const MARKER: &str = "arriving";

/// Returns `true` if the container in this folder was being moved in when the last run ended.
pub(crate) fn is_unfinished(dir: &Path) -> Result<bool> {
    let marker = dir.join("metadata").join(MARKER);
    marker.try_exists().map_err(|error| StorageError::disk(&marker, error))
}

/// Durably moves a folder from a container's place to the folder of removals: a part of it would
/// count as a container. A missing one is ignored.
pub(crate) fn set_aside_copy(disk: &Disk, id: ContainerId, path: &Path) -> Result<()> {
    if !path.try_exists().map_err(|error| StorageError::disk(path, error))? {
        return Ok(());
    }
    disk.io().forget(path);
    containers::set_aside(disk, path, &disk.deleted_dir().join(id.to_string()))
}
