//! Entries of directories: files and directories that are made, renamed and removed.
//!
//! What is not synced is remembered with what takes it back. A loss of power keeps the first of
//! these changes of a machine, as a journal does, and takes the others back from the last one on.

use std::path::{Path, PathBuf};

use libc::{c_char, c_int, mode_t};

use super::super::random::Random;
use super::super::{node, real, unobserved, world};
use super::{OpenFile, directory, has_disk, path_of, volume};

/// Blocks of 4 KiB that a disk has.
const DISK_BLOCKS: u64 = 1 << 28;

/// When an entry of a directory is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Names {
    /// At once.
    #[default]
    AtOnce,
    /// With the next fsync of any file or directory of the disk, as with a journal that orders
    /// everything.
    Journal,
    /// With an fsync of the directory that it is in, which is all that POSIX promises.
    OfDirectory,
}

/// What takes a change of names back.
#[derive(Debug)]
enum Undo {
    /// Something was made there.
    Created(PathBuf),
    /// Something was removed there; it is kept aside, when it was no directory.
    Removed(PathBuf, Option<PathBuf>),
    /// Something was renamed; what it replaced is kept aside.
    Renamed { from: PathBuf, to: PathBuf, replaced: Option<PathBuf> },
}

/// A change of names that is not durable. Paths are below the home of the machine's process.
#[derive(Debug)]
pub(super) struct Pending {
    number: u64,
    undo: Undo,
}

impl Pending {
    fn is_in(&self, dir: &Path) -> bool {
        let within = |path: &Path| path.parent() == Some(dir);
        match &self.undo {
            Undo::Created(path) | Undo::Removed(path, _) => within(path),
            Undo::Renamed { from, to, .. } => within(from) || within(to),
        }
    }

    fn aside(&self) -> Option<&Path> {
        match &self.undo {
            Undo::Created(_) => None,
            Undo::Removed(_, aside) | Undo::Renamed { replaced: aside, .. } => aside.as_deref(),
        }
    }

    /// What was kept aside is needed no more.
    fn forget(&self) {
        if let Some(aside) = self.aside() {
            let _ = unobserved(|| std::fs::remove_file(aside));
        }
    }

    /// Takes it back. What other changes, which are durable, made of it stays as it is.
    fn undo(&self, home: &Path) {
        let undo_write = |aside: &Option<PathBuf>, to: &Path| match aside {
            Some(aside) => std::fs::rename(aside, to),
            None => Ok(()),
        };
        let _ = match &self.undo {
            Undo::Created(path) => {
                let path = home.join(path);
                match path.is_dir() {
                    true => std::fs::remove_dir_all(path),
                    false => std::fs::remove_file(path),
                }
            }
            Undo::Removed(path, None) => std::fs::create_dir(home.join(path)),
            Undo::Removed(path, aside) => undo_write(aside, &home.join(path)),
            Undo::Renamed { from, to, replaced } => {
                let to = home.join(to);
                let back = std::fs::rename(&to, home.join(from));
                back.and_then(|()| undo_write(replaced, &to))
            }
        };
    }
}

fn note(machine: usize, undo: Undo) {
    let number = world().files.count();
    world().files.pending.entry(machine).or_default().push(Pending { number, undo });
}

/// A file or directory was made.
pub(super) fn created(machine: usize, path: &Path) {
    if world().contract.names != Names::AtOnce {
        note(machine, Undo::Created(path.to_owned()));
    }
}

/// A file or a directory was synced, with what was done before that number.
pub(super) fn synced(file: &OpenFile, until: u64) {
    let names = world().contract.names;
    let Some(pending) = world().files.pending.get_mut(&file.machine) else { return };
    pending.retain(|change| {
        let durable = names == Names::Journal || change.is_in(&file.path);
        let stays = change.number > until || !durable;
        if !stays {
            change.forget();
        }
        stays
    });
}

/// What was below these paths of a machine's home is gone with its disk: nothing of it comes back.
pub(super) fn forget(machine: usize, goes: impl Fn(&Path) -> bool) {
    let Some(pending) = world().files.pending.get_mut(&machine) else { return };
    pending.retain(|change| {
        let gone = match &change.undo {
            Undo::Created(path) | Undo::Removed(path, _) => goes(path),
            Undo::Renamed { from, to, .. } => goes(from) || goes(to),
        };
        if gone {
            change.forget();
        }
        !gone
    });
}

/// The machine loses power.
pub(super) fn lose(machine: usize, random: &mut Random) {
    let pending = world().files.pending.remove(&machine).unwrap_or_default();
    if pending.is_empty() {
        return;
    }
    let home = node::home(machine);
    let kept = random.below(pending.len() as u64 + 1) as usize;
    unobserved(|| {
        for change in pending.iter().skip(kept).rev() {
            change.undo(&home);
        }
        for change in &pending {
            change.forget();
        }
    });
}

/// A second name for a file that is about to lose its only one; nothing for a directory, and for
/// what is not there.
fn keep_aside(machine: usize, path: &Path) -> Option<PathBuf> {
    let there = std::fs::symlink_metadata(path).ok()?;
    if there.is_dir() {
        return None;
    }
    let dir = directory(machine).join("aside");
    let aside = dir.join(world().files.count().to_string());
    unobserved(|| {
        std::fs::create_dir_all(&dir).ok()?;
        std::fs::hard_link(path, &aside).ok()
    })?;
    Some(aside)
}

/// The machine of a path and the path below its home, when names are observed.
///
/// # Safety
/// The path must be a C string.
unsafe fn place(path: *const c_char) -> Option<(usize, PathBuf)> {
    if !has_disk() || world().contract.names == Names::AtOnce || world().quiet {
        return None;
    }
    // SAFETY: the caller's word.
    let place = world().files.place_of(unsafe { path_of(path) });
    // The home itself is as durable as what it is mounted on: no directory of the machine has its
    // name, so that a process could sync it.
    place.filter(|(_, below)| !below.as_os_str().is_empty())
}

/// See `mkdir(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: a C string, as the call asks for.
    if unsafe { volume::refuses(path) } {
        return real::fail(libc::EIO);
    }
    // SAFETY: passed on as it came.
    let made = unsafe { real::mkdir(path, mode) };
    // SAFETY: a C string, as the call asks for.
    if made == 0
        && let Some((machine, below)) = unsafe { place(path) }
    {
        note(machine, Undo::Created(below));
    }
    made
}

/// See `rename(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: C strings, as the call asks for.
    if unsafe { volume::refuses(from) || volume::refuses(to) } {
        return real::fail(libc::EIO);
    }
    // SAFETY: C strings, as the call asks for.
    let (places, to_path) = unsafe { ((place(from), place(to)), path_of(to)) };
    let (Some((machine, from_below)), Some((_, to_below))) = places else {
        // SAFETY: passed on as it came.
        return unsafe { real::rename(from, to) };
    };
    let replaced = keep_aside(machine, to_path);
    // SAFETY: passed on as it came.
    let renamed = unsafe { real::rename(from, to) };
    if renamed == 0 {
        note(machine, Undo::Renamed { from: from_below, to: to_below, replaced });
    } else if let Some(aside) = replaced {
        let error = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
        unobserved(|| std::fs::remove_file(aside)).ok();
        return real::fail(error);
    }
    renamed
}

/// See `unlink(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: a C string, as the call asks for.
    if unsafe { volume::refuses(path) } {
        return real::fail(libc::EIO);
    }
    // SAFETY: a C string, as the call asks for.
    let (place, name) = unsafe { (place(path), path_of(path)) };
    let aside = place.as_ref().and_then(|(machine, _)| keep_aside(*machine, name));
    // SAFETY: passed on as it came.
    let removed = unsafe { real::unlink(path) };
    if let Some((machine, below)) = place
        && aside.is_some()
    {
        note(machine, Undo::Removed(below, aside));
    }
    removed
}

/// See `rmdir(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn rmdir(path: *const c_char) -> c_int {
    // SAFETY: a C string, as the call asks for.
    if unsafe { volume::refuses(path) } {
        return real::fail(libc::EIO);
    }
    // SAFETY: passed on as it came.
    let removed = unsafe { real::rmdir(path) };
    // SAFETY: a C string, as the call asks for.
    if removed == 0
        && let Some((machine, below)) = unsafe { place(path) }
    {
        note(machine, Undo::Removed(below, None));
    }
    removed
}

/// See `link(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn link(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: C strings, as the call asks for.
    if unsafe { volume::refuses(from) || volume::refuses(to) } {
        return real::fail(libc::EIO);
    }
    // SAFETY: passed on as it came.
    let made = unsafe { real::link(from, to) };
    // SAFETY: C strings, as the call asks for.
    if made == 0
        && let Some((machine, below)) = unsafe { place(to) }
    {
        note(machine, Undo::Created(below));
    }
    made
}

/// See `statfs(2)`: a disk that keeps names no longer than it must is of no known file
/// system.
#[unsafe(no_mangle)]
unsafe extern "C" fn statfs(path: *const c_char, out: *mut libc::statfs) -> c_int {
    // SAFETY: passed on as it came.
    let told = unsafe { real::statfs(path, out) };
    if told == 0 && has_disk() && world().contract.names == Names::OfDirectory {
        // SAFETY: filled by the call above.
        unsafe { (*out).f_type = 0 };
    }
    told
}

/// See `statvfs(3)`: a run does not see the space of the real file system.
#[unsafe(no_mangle)]
unsafe extern "C" fn statvfs(path: *const c_char, out: *mut libc::statvfs) -> c_int {
    // SAFETY: passed on as it came.
    let told = unsafe { real::statvfs(path, out) };
    if told == 0 && has_disk() {
        // SAFETY: filled by the call above.
        let out = unsafe { &mut *out };
        (out.f_frsize, out.f_bsize) = (volume::BLOCK, volume::BLOCK);
        // SAFETY: a C string, as the call asks for.
        let (all, free) = unsafe { volume::blocks(path) }.unwrap_or((DISK_BLOCKS, DISK_BLOCKS / 2));
        (out.f_blocks, out.f_bfree, out.f_bavail) = (all, free, free);
    }
    told
}
