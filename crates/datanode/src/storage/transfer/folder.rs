//! Folders of copies: the marker of one that is not whole, and how they are removed.

use std::fs;
use std::io;
use std::path::Path;

use types::ContainerId;

use crate::storage::disk::Disk;
use crate::storage::error::{Result, StorageError};

/// Name of the marker, in the folder `metadata` of a container.
pub(super) const MARKER: &str = "arriving";

/// Whether the container in this folder was being moved in when the last run ended.
pub(super) fn is_unfinished(dir: &Path) -> Result<bool> {
    let marker = dir.join("metadata").join(MARKER);
    marker.try_exists().map_err(|error| StorageError::disk(&marker, error))
}

/// Moves a folder that lies where a container belongs to where it is removed, durably: a part of it
/// would count as a container. One that is not there is none. The next start removes it, and the
/// rows of the container if nothing else is in its place.
pub(super) fn set_aside(disk: &Disk, id: ContainerId, path: &Path) -> Result<()> {
    let aside = disk.deleted_dir().join(id.to_string());
    remove_folder(&aside)?;
    disk.io().forget(path);
    match fs::rename(path, &aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        outcome => outcome.map_err(|e| StorageError::disk(path, e))?,
    }
    for path in [path, &aside].iter().filter_map(|path| path.parent()) {
        disk.sync_names(path)?;
    }
    Ok(())
}

/// Removes a folder, if it is there.
pub(super) fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StorageError::disk(path, error))
        }
        _ => Ok(()),
    }
}
