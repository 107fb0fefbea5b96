//! Disks: directories of the real file system, one for each machine, `<root>/<machine>`.
//!
//! * [`write`]: writes and syncs. Writes since a file's last sync are recorded with the overwritten
//!   bytes.
//! * [`read`]: reads, which can fail.
//! * [`loss`]: reverts unsynced writes of a file after a loss of power, or a failed fsync.
//! * [`names`]: entries of directories, and their loss with the power.
//! * [`damage`]: damage to synced data: bit rot, and the loss of a directory or of the disk.
//! * [`volume`]: disks of a machine that fail separately.
//!
//! An fsync takes its simulated time and does not sync the real disk: the simulating process does
//! not lose power.

pub mod damage;
mod loss;
pub mod names;
mod read;
mod resolve;
pub mod volume;
mod write;

use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use libc::{c_char, c_int, mode_t};
use rustc_hash::FxHashMap;

use self::loss::Unsynced;
use self::names::{Names, Pending};
use super::node::{self, End};
use super::random::Random;
use super::{inside, real, world};

pub(super) use self::read::{about_to_read, short};
pub(super) use self::write::{write, write_parts};

/// File in which the standard library searches for a container's CPU limit, which would be that of
/// the real machine: it does not exist here.
const QUOTA: &str = "/proc/self/cgroup";

/// Behaviour of a disk.
#[derive(Debug, Clone)]
pub struct Disk {
    /// Minimum duration of an fsync, in nanoseconds.
    pub sync: u64,
    /// Maximum addition to it.
    pub sync_more: u64,
    /// Nothing can be added.
    pub full: bool,
    /// The process that makes this many more writes ends so.
    pub crash: Option<(u64, End)>,
    /// Writes and fsyncs so far.
    pub writes: u64,
    /// Rates of failing calls.
    pub errors: Errors,
    /// Reads that take long.
    pub late: Option<Late>,
    /// Capacity in bytes; 0: more than any run needs, half of it free.
    pub capacity: u64,
    /// Directories below the home of the machine's process whose disks fail.
    pub failing: Vec<PathBuf>,
    /// Such directories on whose disks something else has taken all the room.
    pub crowded: Vec<PathBuf>,
}

impl Default for Disk {
    fn default() -> Self {
        Self {
            sync: 100_000,
            sync_more: 900_000,
            full: false,
            crash: None,
            writes: 0,
            errors: Errors::default(),
            late: None,
            capacity: 0,
            failing: Vec::new(),
            crowded: Vec::new(),
        }
    }
}

/// Rates of a disk's failing calls: one call in this many, 0 for never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Errors {
    /// Reads that fail with EIO.
    pub read: u64,
    /// Writes that fail with EIO and change nothing.
    pub write: u64,
    /// fsyncs that fail with EIO. Unsynced writes are dropped; the next fsync succeeds.
    pub sync: u64,
    /// The same for files of blocks and segments only.
    pub sync_blocks: u64,
    /// Writes that are confirmed and change nothing.
    pub lost: u64,
    /// Writes that are confirmed and go to another place of the same file.
    pub misdirected: u64,
}

/// Slow reads of files below directories of a name, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// The name.
    pub below: &'static str,
    /// Duration of each read.
    pub lasts: u64,
}

/// Behaviour of this run's disks, within their contracts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Contract {
    /// A loss of power keeps any of the unsynced writes of a file, not only the first ones.
    pub any_order: bool,
    /// Directory entries that a loss of power reverts.
    pub names: Names,
}

#[derive(Clone)]
struct OpenFile {
    machine: usize,
    inode: u64,
    /// Below the home of the machine's process.
    path: Rc<Path>,
}

/// More files than ever have unsynced bytes: the real file system numbers files as it likes, and
/// when a table of such numbers grows depends on them.
const UNSYNCED_CAPACITY: usize = 1 << 16;

/// All open files below the root, and their unsynced changes.
pub struct Files {
    root: PathBuf,
    open: FxHashMap<c_int, OpenFile>,
    unsynced: FxHashMap<u64, Unsynced>,
    /// Entries of directories that are not synced, by machine, in the order of their making.
    pending: FxHashMap<usize, Vec<Pending>>,
    /// Numbers writes and changes of names.
    counter: u64,
    /// The range of each machine's last synced write to a Raft log.
    log_ends: FxHashMap<usize, damage::LogEnd>,
}

impl Files {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            open: FxHashMap::default(),
            unsynced: FxHashMap::with_capacity_and_hasher(UNSYNCED_CAPACITY, Default::default()),
            pending: FxHashMap::default(),
            counter: 0,
            log_ends: FxHashMap::default(),
        }
    }

    /// The machine of a path, and what the path is below the home of the machine's process.
    fn place_of(&self, path: &Path) -> Option<(usize, PathBuf)> {
        let mut below = path.strip_prefix(&self.root).ok()?.iter();
        let machine = below.next()?.to_str()?.parse().ok()?;
        below.next()?;
        Some((machine, below.as_path().to_owned()))
    }

    fn count(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }
}

/// A file that is on no machine's disk: it is never damaged.
pub fn aside(name: &str) -> PathBuf {
    world().files.root.join(name)
}

/// The directory of a machine's disk.
pub fn directory(machine: usize) -> PathBuf {
    world().files.root.join(machine.to_string())
}

/// Returns `true` if the calling thread's process has a disk: the observer has none.
fn has_disk() -> bool {
    inside() && world().schedule.process_of_me() != 0
}

/// A path from C.
///
/// # Safety
/// It must be a C string.
unsafe fn path_of<'a>(path: *const c_char) -> &'a Path {
    // SAFETY: the caller's word.
    Path::new(std::ffi::OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()))
}

fn stat(fd: c_int) -> Option<libc::stat64> {
    let mut stat = std::mem::MaybeUninit::uninit();
    // SAFETY: filled when the call succeeds.
    (unsafe { libc::fstat64(fd, stat.as_mut_ptr()) } == 0).then(|| unsafe { stat.assume_init() })
}

fn len_of(fd: c_int) -> u64 {
    stat(fd).map_or(0, |stat| stat.st_size as u64)
}

fn file_of(fd: c_int) -> Option<OpenFile> {
    if inside() { world().files.open.get(&fd).cloned() } else { None }
}

/// A step of a process on its disk; the process may end here.
fn step(machine: usize) {
    let disk = &mut world().machines[machine].disk;
    disk.writes += 1;
    if let Some((left, end)) = &mut disk.crash {
        *left = left.saturating_sub(1);
        if *left == 0 {
            let end = *end;
            disk.crash = None;
            let last = |p: &node::Process| p.machine == machine && p.alive;
            if let Some(process) = world().processes.iter().rposition(last) {
                node::kill(process, end);
            }
        }
    }
}

/// See `open(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    if !has_disk() {
        // SAFETY: passed through unchanged.
        return unsafe { real::open64(path, flags, mode) };
    }
    // SAFETY: a C string, as `open` asks for.
    let name = unsafe { path_of(path) };
    if name == Path::new(QUOTA) {
        // SAFETY: the thread's own number.
        unsafe { *libc::__errno_location() = libc::ENOENT };
        return -1;
    }
    let place = world().files.place_of(name);
    if place.as_ref().is_some_and(|(machine, below)| volume::fails(*machine, below)) {
        return real::fail(libc::EIO);
    }
    let new = place.is_some() && flags & libc::O_CREAT != 0 && !name.exists();
    // SAFETY: passed through unchanged.
    let fd = unsafe { real::open64(path, flags, mode) };
    if fd >= 0
        && let Some((machine, below)) = place
        && let Some(stat) = stat(fd)
    {
        if new {
            names::created(machine, &below);
        }
        let file = OpenFile { machine, inode: stat.st_ino, path: below.into() };
        world().files.open.insert(fd, file);
    }
    fd
}

/// See `open(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: passed through unchanged.
    unsafe { open64(path, flags, mode) }
}

/// A descriptor is closed.
pub(super) fn closed(fd: c_int) {
    world().files.open.remove(&fd);
}

/// A descriptor stands for the same file as another.
pub(super) fn duplicated(fd: c_int, new: c_int) {
    let files = &mut world().files;
    if let Some(file) = files.open.get(&fd).cloned() {
        files.open.insert(new, file);
    }
}

/// Forgets the files of a dead process: its descriptors become invalid, so that its locks are free.
pub(super) fn forget_open_files(machine: usize) {
    // SAFETY: a C string; the descriptor is closed below.
    let nowhere = unsafe { real::open64(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC, 0) };
    world().files.open.retain(|fd, file| {
        if file.machine == machine {
            // SAFETY: both are open; a thread that still has the first reads and writes nothing.
            unsafe { libc::dup2(nowhere, *fd) };
        }
        file.machine != machine
    });
    // SAFETY: opened above.
    unsafe { real::close(nowhere) };
}

/// The machine loses power: reverts unsynced changes, as the seed picks.
pub(super) fn lose(machine: usize, random: &mut Random) {
    let any_order = world().contract.any_order && random.one_in(2);
    let files = &mut world().files;
    // In the order of their first changes: inodes have other numbers in each run.
    let of_here = files.unsynced.iter().filter(|(_, u)| u.machine == machine);
    let mut inodes: Vec<(u64, u64)> = of_here.map(|(i, u)| (u.first(), *i)).collect();
    inodes.sort_unstable();
    for (_, inode) in inodes {
        let Some(mut file) = files.unsynced.remove(&inode) else { continue };
        match any_order {
            true => file.keep_any(u64::MAX, random),
            false => file.keep_first(random),
        }
        file.close();
    }
    names::lose(machine, random);
}
