//! Disks of a machine that fail separately: all calls on files below a directory fail with EIO,
//! until it works again with all its data. Cached names and sizes are still returned.
//!
//! Disks of a machine may have a size, so that they are filled differently.

use std::ffi::c_char;
use std::path::{Path, PathBuf};

use super::super::{node, world};
use super::{has_disk, path_of};

/// Bytes of a block.
pub(super) const BLOCK: u64 = 4096;

/// Has the disk below a directory of a machine's home fail.
pub fn fail(machine: usize, dir: &Path) {
    let failing = &mut world().machines[machine].disk.failing;
    if !failing.iter().any(|of| of == dir) {
        failing.push(dir.to_owned());
    }
}

/// Has it work again.
pub fn heal(machine: usize, dir: &Path) {
    world().machines[machine].disk.failing.retain(|of| of != dir);
}

/// Fills the disk below a directory of a machine's home: it reports no free space. Writes still
/// succeed, as from the reserved blocks of a file system.
pub fn crowd(machine: usize, dir: &Path) {
    let crowded = &mut world().machines[machine].disk.crowded;
    if !crowded.iter().any(|of| of == dir) {
        crowded.push(dir.to_owned());
    }
}

/// Gives the room of all disks of a machine back.
pub fn relieve(machine: usize) {
    world().machines[machine].disk.crowded.clear();
}

/// Returns `true` if this path below a machine's home is on a failed disk.
pub(super) fn fails(machine: usize, below: &Path) -> bool {
    world().machines[machine].disk.failing.iter().any(|dir| below.starts_with(dir))
}

/// Returns `true` if a call with a path fails.
///
/// # Safety
/// The path must be a C string.
pub(super) unsafe fn refuses(path: *const c_char) -> bool {
    if !has_disk() || world().quiet {
        return false;
    }
    // SAFETY: the caller's word.
    let place = world().files.place_of(unsafe { path_of(path) });
    place.is_some_and(|(machine, below)| fails(machine, &below))
}

/// Total and free blocks of a disk, of [`BLOCK`] bytes each. `None` if the machine's disks have no
/// capacity.
///
/// # Safety
/// The path must be a C string.
pub(super) unsafe fn blocks(path: *const c_char) -> Option<(u64, u64)> {
    // SAFETY: the caller's word.
    let (machine, below) = world().files.place_of(unsafe { path_of(path) })?;
    let capacity = world().machines[machine].disk.capacity;
    if capacity == 0 {
        return None;
    }
    // A disk is the directory below that of all containers.
    let volume = below.iter().take(2).collect::<PathBuf>();
    if world().machines[machine].disk.crowded.contains(&volume) {
        return Some((capacity / BLOCK, 0));
    }
    let used = size(&node::home(machine).join(volume));
    Some((capacity / BLOCK, capacity.saturating_sub(used) / BLOCK))
}

/// Bytes of the files below a directory.
fn size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.fold(0, u64::saturating_add)
}
