//! The parts of a container, without the bytes of its blocks.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use container::ContainerState;
use container::segment::SegmentInfo;

use super::judge::{judge, of_system};
use super::{Found, rows};
use crate::containers::Container;
use crate::error::Result;

/// The first thing that is wrong. Blocks.
pub(super) fn damage_of(container: &Container) -> Found {
    first_damage(container).unwrap_or_else(|error| judge(container.id(), &error))
}

/// Checks the files of a container that was loaded from rows, if not yet done, and returns their
/// damage. `None` if they cannot be checked now. Blocks.
pub(crate) fn damage_of_unseen(container: &Container) -> Option<Option<String>> {
    if !container.unseen.load(Ordering::Relaxed) {
        return Some(None);
    }
    match damage_of(container) {
        Found::Damage(reason) => Some(Some(reason)),
        Found::Nothing => Some(None),
        Found::Moot => None,
    }
}

/// Returns the first damage, except of the state and the `.container` file, which contains the
/// state. Blocks.
///
/// # Errors
/// When a file cannot be read: also evidence of damage.
pub(crate) fn damage_beside_file(container: &Container) -> Result<Option<String>> {
    match (folders(container)?, rows::check_sums(container)?) {
        (None, None) => {}
        (reason, other) => return Ok(reason.or(other)),
    }
    match segments(container)? {
        None => rows::check_count(container),
        reason => Ok(reason),
    }
}

fn first_damage(container: &Container) -> Result<Found> {
    let place = {
        // Neither its state nor its place changes meanwhile.
        let _one = container.changing.lock();
        let state = container.state();
        if matches!(state, ContainerState::Unhealthy | ContainerState::Deleted) {
            return Ok(Found::Moot);
        }
        match folders(container)? {
            Some(reason) => Some(reason),
            None => container.check_file(state)?,
        }
    };
    if let Some(reason) = place {
        return Ok(Found::Damage(reason));
    }
    let rest = match rows::check_sums(container)? {
        Some(reason) => Some(reason),
        None => segments(container)?,
    };
    let rest = match rest {
        Some(reason) => Some(reason),
        None => {
            let chunks = container.path().join("chunks");
            container.look_first().map_err(|e| of_system(container.id(), &chunks, &e))?
        }
    };
    Ok(rest.map_or(Found::Nothing, Found::Damage))
}

/// The container's folders.
fn folders(container: &Container) -> Result<Option<String>> {
    let dir = container.path();
    for folder in [dir.to_owned(), dir.join("metadata"), dir.join("chunks")] {
        let there = fs::metadata(&folder).map_err(|e| of_system(container.id(), &folder, &e))?;
        if !there.is_dir() {
            return Ok(Some(format!("{} is not a directory", folder.display())));
        }
    }
    Ok(None)
}

/// Checks segment files with live records: they exist, and contain all durable bytes.
fn segments(container: &Container) -> Result<Option<String>> {
    if container.is_replaying() {
        return Ok(None);
    }
    let holds = |info: &SegmentInfo| info.live_records > 0 && info.durable > 0;
    let infos = container.segments.lock().infos.clone();
    for (number, info) in infos.into_iter().filter(|(_, info)| holds(info)) {
        let path = container.segment_path(number);
        let found = length(&path).map_err(|e| of_system(container.id(), &path, &e))?;
        // A segment is forgotten before its file is deleted.
        let still = || container.segments.lock().infos.get(&number).is_some_and(holds);
        if found < info.durable && still() {
            let (path, durable) = (path.display(), info.durable);
            return Ok(Some(format!("{path} has {found} bytes, {durable} were durable")));
        }
    }
    Ok(None)
}

/// A file's length, by its name: one that was removed may still be open. 0 when there is none.
pub(super) fn length(path: &Path) -> io::Result<u64> {
    match fs::metadata(path) {
        Ok(file) => Ok(file.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}
