//! Entries of directories: files and directories that are made, renamed and removed.
//!
//! Unsynced changes are recorded with their reverse, under the current name: if the directory is
//! renamed, they follow. A loss of power keeps the first of these changes of a machine, as a
//! journal does, and reverts the others from the last one on.

use std::path::{Path, PathBuf};

use libc::{c_char, c_int, mode_t};

use super::super::random::Random;
use super::super::{node, real, unobserved, world};
use super::{OpenFile, directory, has_disk, path_of, volume};

/// Blocks of 4 KiB that a disk has.
const DISK_BLOCKS: u64 = 1 << 28;

/// Point at which an entry of a directory is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Names {
    /// At once.
    #[default]
    AtOnce,
    /// With the next fsync of any file or directory of the disk, as with a journal that orders
    /// everything.
    Journal,
    /// With an fsync of the parent directory; POSIX guarantees no more.
    OfDirectory,
}

/// Reverse of a change of names.
#[derive(Debug)]
enum Undo {
    /// Something was made there.
    Created(PathBuf),
    /// Something was removed there; it is kept aside, when it was no directory.
    Removed(PathBuf, Option<PathBuf>),
    /// A rename; the replaced file is kept aside.
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

    /// The file kept aside is not needed any more.
    fn forget(&self) {
        if let Some(aside) = self.aside() {
            let _ = unobserved(|| std::fs::remove_file(aside));
        }
    }

    /// Returns `true` if it is in this directory, or further below.
    fn is_below(&self, dir: &Path) -> bool {
        let below = |path: &Path| path != dir && path.starts_with(dir);
        match &self.undo {
            Undo::Created(path) | Undo::Removed(path, _) => below(path),
            Undo::Renamed { from, to, .. } => below(from) || below(to),
        }
    }

    /// The directory `from` was renamed to `to`: paths below it change, too.
    fn follow(&mut self, from: &Path, to: &Path) {
        let follow = |path: &mut PathBuf| match path.strip_prefix(from) {
            Ok(below) if below.as_os_str().is_empty() => {}
            Ok(below) => *path = to.join(below),
            Err(_) => {}
        };
        match &mut self.undo {
            Undo::Created(path) | Undo::Removed(path, _) => follow(path),
            Undo::Renamed { from, to, .. } => [from, to].into_iter().for_each(follow),
        }
    }

    /// Reverts it. Effects of other changes, which are durable, remain.
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
    world().note(|| format!("  name {machine} {number} {undo:?}"));
    world().files.pending.entry(machine).or_default().push(Pending { number, undo });
}

/// A file or directory was made.
pub(super) fn created(machine: usize, path: &Path) {
    if world().contract.names != Names::AtOnce {
        note(machine, Undo::Created(path.to_owned()));
    }
}

/// A file or a directory was synced, with the changes before that number.
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

/// Paths below these of a machine's home were lost with its disk: none of them comes back.
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
    for change in pending.iter().skip(kept).rev() {
        world().note(|| format!("  undone {machine} {change:?}"));
    }
    unobserved(|| take_back(&home, pending, kept));
}

/// Reverts changes, except the first `kept` ones.
fn take_back(home: &Path, mut pending: Vec<Pending>, kept: usize) {
    let mut lost = pending.split_off(kept);
    while let Some(change) = lost.pop() {
        change.undo(home);
        if let Undo::Renamed { from, to, .. } = &change.undo {
            lost.iter_mut().for_each(|earlier| earlier.follow(to, from));
        }
        change.forget();
    }
    pending.iter().for_each(Pending::forget);
}

/// A directory is created, or gets this name: records of an earlier directory of this name, which
/// was deleted with its contents, do not apply to it.
fn begins(pending: &mut Vec<Pending>, dir: &Path) {
    pending.retain(|change| {
        let of_another = change.is_below(dir);
        if of_another {
            change.forget();
        }
        !of_another
    });
}

/// A rename. If it is a directory, the changes in it follow.
fn moves(pending: &mut Vec<Pending>, from: &Path, to: &Path) {
    begins(pending, to);
    pending.iter_mut().for_each(|change| change.follow(from, to));
}

/// Creates a second name for a file that is about to lose its only one; none for a directory or a
/// missing file.
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
    // The home itself is durable: no process of the machine has its path and could sync it.
    place.filter(|(_, below)| !below.as_os_str().is_empty())
}

/// See `mkdir(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: a C string, as the call asks for.
    if unsafe { volume::refuses(path) } {
        return real::fail(libc::EIO);
    }
    // SAFETY: passed through unchanged.
    let made = unsafe { real::mkdir(path, mode) };
    // SAFETY: a C string, as the call asks for.
    if made == 0
        && let Some((machine, below)) = unsafe { place(path) }
    {
        begins(world().files.pending.entry(machine).or_default(), &below);
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
        // SAFETY: passed through unchanged.
        return unsafe { real::rename(from, to) };
    };
    let replaced = keep_aside(machine, to_path);
    // SAFETY: passed through unchanged.
    let renamed = unsafe { real::rename(from, to) };
    if renamed == 0 {
        moves(world().files.pending.entry(machine).or_default(), &from_below, &to_below);
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
    // SAFETY: passed through unchanged.
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
    // SAFETY: passed through unchanged.
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
    // SAFETY: passed through unchanged.
    let made = unsafe { real::link(from, to) };
    // SAFETY: C strings, as the call asks for.
    if made == 0
        && let Some((machine, below)) = unsafe { place(to) }
    {
        note(machine, Undo::Created(below));
    }
    made
}

/// See `statfs(2)`: a disk that keeps names only as long as required is of no known file system.
#[unsafe(no_mangle)]
unsafe extern "C" fn statfs(path: *const c_char, out: *mut libc::statfs) -> c_int {
    // SAFETY: passed through unchanged.
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
    // SAFETY: passed through unchanged.
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Changes below a directory, each of which is done and remembered.
    struct Changes {
        home: PathBuf,
        pending: Vec<Pending>,
    }

    impl Changes {
        fn new(name: &str, directories: &[&str]) -> Self {
            let home = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
            for directory in directories {
                fs::create_dir_all(home.join(directory)).unwrap();
            }
            Self { home, pending: Vec::new() }
        }

        fn note(&mut self, undo: Undo) {
            self.pending.push(Pending { number: self.pending.len() as u64, undo });
        }

        fn write(&mut self, path: &str) {
            fs::write(self.home.join(path), path).unwrap();
            self.note(Undo::Created(path.into()));
        }

        fn rename(&mut self, from: &str, to: &str) {
            let (from, to) = (PathBuf::from(from), PathBuf::from(to));
            fs::rename(self.home.join(&from), self.home.join(&to)).unwrap();
            moves(&mut self.pending, &from, &to);
            self.note(Undo::Renamed { from, to, replaced: None });
        }

        fn sync(&mut self, directory: &str) {
            self.pending.retain(|change| !change.is_in(Path::new(directory)));
        }

        fn lose_all(&mut self) {
            take_back(&self.home, std::mem::take(&mut self.pending), 0);
        }

        fn has(&self, path: &str) -> bool {
            self.home.join(path).exists()
        }
    }

    impl Drop for Changes {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.home).unwrap();
        }
    }

    #[test]
    fn a_file_that_was_made_in_a_directory_of_the_same_name_takes_no_other_one_away() {
        let mut c = Changes::new("names-other", &["place/5", "aside", "arriving/5"]);
        c.write("place/5/block");
        c.rename("place/5", "aside/5");
        c.sync("place");
        // As `remove_dir_all` does, which the world does not see.
        fs::remove_dir_all(c.home.join("aside/5")).unwrap();
        c.write("arriving/5/block");
        c.sync("arriving/5");
        c.rename("arriving/5", "place/5");
        c.sync("place");
        c.lose_all();
        assert!(c.has("place/5/block"), "it was durable before its directory had this name");
    }

    #[test]
    fn a_file_that_is_not_durable_is_lost_under_the_new_name_of_its_directory() {
        let mut c = Changes::new("names-new", &["arriving/5", "place"]);
        c.write("arriving/5/block");
        c.rename("arriving/5", "place/5");
        c.sync("place");
        c.lose_all();
        assert!(c.has("place/5") && !c.has("place/5/block"));
    }

    #[test]
    fn a_directory_that_has_its_old_name_again_lacks_what_was_not_durable() {
        let mut c = Changes::new("names-old", &["arriving/5", "place"]);
        c.write("arriving/5/block");
        c.rename("arriving/5", "place/5");
        c.lose_all();
        assert!(c.has("arriving/5") && !c.has("arriving/5/block") && !c.has("place/5"));
    }
}
