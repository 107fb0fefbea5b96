//! Copies that were arriving when the last run ended.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use types::ContainerId;

use crate::containers::{drop_rows, remove_folder};
use crate::disk::Disk;
use crate::error::{Result, StorageError};
use crate::reconcile::BLOCKS_OF;
use crate::transfer::{is_unfinished, set_aside_copy};

/// The folders of a disk that count as containers, after the removal of incomplete copies.
#[derive(Default)]
pub(super) struct Whole {
    /// Those that are whole.
    pub(super) places: Vec<(ContainerId, PathBuf)>,
    /// Those whose state cannot be read.
    pub(super) unreadable: Vec<ContainerId>,
}

/// Removes copies that were arriving when the last run ended: `known` are containers that are
/// whole, and `places` the folders of others. Returns the others.
///
/// A container that its pipeline created while a copy of it arrived has rows of its own: those
/// stay.
pub(super) fn discard_unfinished(
    disk: &Disk,
    known: &BTreeSet<ContainerId>,
    places: Vec<(ContainerId, PathBuf)>,
) -> Result<Whole> {
    let dir = disk.arrivals_dir();
    let entries = fs::read_dir(&dir).map_err(|e| StorageError::disk(&dir, e))?;
    let (mut arriving, mut blocks) = (Vec::new(), Vec::new());
    for entry in entries.flatten() {
        let name = entry.file_name();
        match name.to_str().map(|name| (name.parse(), name.starts_with(BLOCKS_OF))) {
            Some((Ok(id), _)) => arriving.push((id, entry.path())),
            Some((_, true)) => blocks.push(entry.path()),
            _ => {}
        }
    }
    for path in blocks {
        remove_or_tell(&path);
    }
    let mut whole = Whole::default();
    for (id, place) in places {
        match is_unfinished(&place) {
            Ok(false) => whole.places.push((id, place)),
            Ok(true) => {
                tracing::info!(container = %id, "removing an incomplete copy");
                drop_rows(disk, id)?;
                match set_aside_copy(disk, id, &place) {
                    Ok(()) => remove_or_tell(&disk.deleted_dir().join(id.to_string())),
                    // Its marker identifies it to the next start.
                    Err(error) => {
                        tracing::error!(container = %id, %error, "cannot remove an incomplete copy");
                    }
                }
            }
            Err(error) => {
                tracing::error!(container = %id, %error, "cannot read a copy's marker: it is not served");
                whole.unreadable.push(id);
            }
        }
    }
    let others = whole.places.iter().map(|(id, _)| *id).chain(whole.unreadable.iter().copied());
    let in_place: BTreeSet<ContainerId> = others.chain(known.iter().copied()).collect();
    for (id, path) in arriving {
        let keeps_rows = in_place.contains(&id);
        tracing::info!(container = %id, keeps_rows, "removing a copy that did not arrive");
        if !keeps_rows {
            drop_rows(disk, id)?;
        }
        remove_or_tell(&path);
    }
    Ok(whole)
}

/// Removes a folder. One that stays is found again by the next start.
fn remove_or_tell(path: &Path) {
    if let Err(error) = remove_folder(path) {
        tracing::error!(%error, "cannot remove a copy that did not arrive");
    }
}
