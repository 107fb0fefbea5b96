//! Disks: directories of the real file system, one for each machine, `<root>/<machine>`.
//!
//! What is written since a file's last fsync is remembered with what was there before. A loss of power puts that back,
//! from the last write on, as far as the seed says; a part of the write in the middle may stay (a torn write). An fsync
//! costs what the disk says and syncs nothing really: the process that simulates does not lose power.
//!
//! Names are durable at once, as on a file system whose journal orders them.

use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use libc::{c_char, c_int, c_void, iovec, mode_t, off64_t, size_t, ssize_t};
use rustc_hash::FxHashMap;

use super::epoll::later;
use super::node::{self, End};
use super::random::Random;
use super::{clock, inside, real, world};

/// What survives a torn write is a multiple of this.
const SECTOR: u64 = 512;

/// How a disk behaves.
#[derive(Debug, Clone)]
pub struct Disk {
    /// An fsync takes at least so long, in nanoseconds.
    pub sync: u64,
    /// And up to so much longer.
    pub sync_more: u64,
    /// Nothing can be added.
    pub full: bool,
    /// The process that makes this many more writes ends so.
    pub crash: Option<(u64, End)>,
    /// Writes and fsyncs so far.
    pub writes: u64,
}

impl Default for Disk {
    fn default() -> Self {
        Self { sync: 100_000, sync_more: 900_000, full: false, crash: None, writes: 0 }
    }
}

#[derive(Clone, Copy)]
struct OpenFile {
    machine: usize,
    inode: u64,
}

struct Change {
    at: u64,
    before: Vec<u8>,
    written: u64,
    len_before: u64,
}

/// What is not synced of a file.
struct Unsynced {
    machine: usize,
    /// A descriptor of our own.
    fd: c_int,
    changes: Vec<Change>,
}

/// All open files below the root, and what is not synced.
pub struct Files {
    root: PathBuf,
    open: FxHashMap<c_int, OpenFile>,
    unsynced: FxHashMap<u64, Unsynced>,
}

impl Files {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), open: FxHashMap::default(), unsynced: FxHashMap::default() }
    }

    fn machine_of(&self, path: &Path) -> Option<usize> {
        let below = path.strip_prefix(&self.root).ok()?;
        below.iter().next()?.to_str()?.parse().ok()
    }
}

/// The directory of a machine's disk.
pub fn directory(machine: usize) -> PathBuf {
    world().files.root.join(machine.to_string())
}

fn stat(fd: c_int) -> Option<libc::stat64> {
    let mut stat = std::mem::MaybeUninit::uninit();
    // SAFETY: filled when the call succeeds.
    (unsafe { libc::fstat64(fd, stat.as_mut_ptr()) } == 0).then(|| unsafe { stat.assume_init() })
}

fn len_of(fd: c_int) -> u64 {
    stat(fd).map_or(0, |stat| stat.st_size as u64)
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

/// Before `len` bytes at `at` are written: notes what is there, or refuses.
fn about_to_write(fd: c_int, file: OpenFile, at: u64, len: u64) -> Result<(), c_int> {
    step(file.machine);
    let world = world();
    let Some(file) = world.files.open.get(&fd).copied() else { return Ok(()) };
    let long = len_of(fd);
    if world.machines[file.machine].disk.full && at + len > long {
        return Err(libc::ENOSPC);
    }
    let unsynced = world.files.unsynced.entry(file.inode).or_insert_with(|| {
        let path = format!("/proc/self/fd/{fd}\0");
        // SAFETY: a C string, and a descriptor that nobody else knows.
        let own = unsafe { real::open64(path.as_ptr().cast(), libc::O_RDWR | libc::O_CLOEXEC, 0) };
        Unsynced { machine: file.machine, fd: own, changes: Vec::new() }
    });
    let mut before = vec![0; long.saturating_sub(at).min(len) as usize];
    // SAFETY: the buffer is as long as said.
    let read = unsafe {
        real::pread64(unsynced.fd, before.as_mut_ptr().cast(), before.len(), at as off64_t)
    };
    before.truncate(read.max(0) as usize);
    unsynced.changes.push(Change { at, before, written: len, len_before: long });
    Ok(())
}

fn file_of(fd: c_int) -> Option<OpenFile> {
    if inside() { world().files.open.get(&fd).copied() } else { None }
}

fn position(fd: c_int) -> u64 {
    // SAFETY: asks only.
    let flags = unsafe { real::fcntl64(fd, libc::F_GETFL, 0) };
    if flags & libc::O_APPEND != 0 {
        return len_of(fd);
    }
    // SAFETY: asks only.
    unsafe { libc::lseek64(fd, 0, libc::SEEK_CUR) }.max(0) as u64
}

/// Writes at the descriptor's position.
pub(super) unsafe fn write(fd: c_int, data: *const c_void, len: size_t) -> ssize_t {
    if let Some(file) = file_of(fd)
        && let Err(error) = about_to_write(fd, file, position(fd), len as u64)
    {
        return real::fail(error) as ssize_t;
    }
    // SAFETY: passed on as it came.
    unsafe { real::write(fd, data, len) }
}

/// Writes parts at the descriptor's position.
pub(super) unsafe fn write_parts(fd: c_int, parts: &[iovec]) -> ssize_t {
    let len: usize = parts.iter().map(|p| p.iov_len).sum();
    if let Some(file) = file_of(fd)
        && let Err(error) = about_to_write(fd, file, position(fd), len as u64)
    {
        return real::fail(error) as ssize_t;
    }
    // SAFETY: passed on as it came.
    unsafe { real::writev(fd, parts.as_ptr(), parts.len() as c_int) }
}

/// See `pwrite(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(fd: c_int, data: *const c_void, len: size_t, at: off64_t) -> ssize_t {
    if let Some(file) = file_of(fd)
        && let Err(error) = about_to_write(fd, file, at as u64, len as u64)
    {
        return real::fail(error) as ssize_t;
    }
    // SAFETY: passed on as it came.
    unsafe { real::pwrite64(fd, data, len, at) }
}

/// See `pwrite(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite(fd: c_int, data: *const c_void, len: size_t, at: off64_t) -> ssize_t {
    // SAFETY: passed on as it came.
    unsafe { pwrite64(fd, data, len, at) }
}

/// See `pwritev(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pwritev64(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    at: off64_t,
) -> ssize_t {
    if let Some(file) = file_of(fd) {
        // SAFETY: the caller gave that many parts.
        let given = unsafe { std::slice::from_raw_parts(parts, count as usize) };
        let len: usize = given.iter().map(|p| p.iov_len).sum();
        if let Err(error) = about_to_write(fd, file, at as u64, len as u64) {
            return real::fail(error) as ssize_t;
        }
    }
    // SAFETY: passed on as it came.
    unsafe { real::pwritev64(fd, parts, count, at) }
}

/// See `pwritev(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pwritev(fd: c_int, parts: *const iovec, count: c_int, at: off64_t) -> ssize_t {
    // SAFETY: passed on as it came.
    unsafe { pwritev64(fd, parts, count, at) }
}

/// See `ftruncate(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate64(fd: c_int, len: off64_t) -> c_int {
    if let Some(file) = file_of(fd) {
        let long = len_of(fd);
        let (from, to) = (long.min(len as u64), long.max(len as u64));
        let changed = if (len as u64) < long { to - from } else { 0 };
        if let Err(error) = about_to_write(fd, file, from, changed) {
            return real::fail(error);
        }
    }
    // SAFETY: passed on as it came.
    unsafe { real::ftruncate64(fd, len) }
}

/// See `ftruncate(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate(fd: c_int, len: off64_t) -> c_int {
    // SAFETY: passed on as it came.
    unsafe { ftruncate64(fd, len) }
}

/// See `fallocate(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fallocate64(fd: c_int, mode: c_int, at: off64_t, len: off64_t) -> c_int {
    if let Some(file) = file_of(fd) {
        // A hole takes no room.
        let changed = match mode & libc::FALLOC_FL_PUNCH_HOLE {
            0 => len as u64,
            _ => (len as u64).min(len_of(fd).saturating_sub(at as u64)),
        };
        if let Err(error) = about_to_write(fd, file, at as u64, changed) {
            return real::fail(error);
        }
    }
    // SAFETY: passed on as it came.
    unsafe { real::fallocate64(fd, mode, at, len) }
}

/// See `fallocate(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fallocate(fd: c_int, mode: c_int, at: off64_t, len: off64_t) -> c_int {
    // SAFETY: passed on as it came.
    unsafe { fallocate64(fd, mode, at, len) }
}

fn sync(fd: c_int) -> Option<c_int> {
    let file = file_of(fd)?;
    step(file.machine);
    let disk = &world().machines[file.machine].disk;
    let (least, more) = (disk.sync, disk.sync_more);
    let takes = least + world().random.below(more.max(1));
    clock::sleep_until(later(takes));
    // What was written meanwhile is synced as well, or not: the disk may have taken it before.
    let file = file_of(fd)?;
    if let Some(synced) = world().files.unsynced.remove(&file.inode) {
        // SAFETY: a descriptor of our own.
        unsafe { real::close(synced.fd) };
    }
    Some(0)
}

/// See `fsync(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: passed on as it came.
    sync(fd).unwrap_or_else(|| if inside() { 0 } else { unsafe { real::fsync(fd) } })
}

/// See `fdatasync(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    // SAFETY: passed on as it came.
    sync(fd).unwrap_or_else(|| if inside() { 0 } else { unsafe { real::fdatasync(fd) } })
}

/// See `open(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: passed on as it came.
    let fd = unsafe { real::open64(path, flags, mode) };
    if fd >= 0 && inside() {
        // SAFETY: a C string, or the call had failed.
        let name = unsafe { CStr::from_ptr(path) }.to_bytes();
        let files = &mut world().files;
        let machine = files.machine_of(Path::new(std::ffi::OsStr::from_bytes(name)));
        if let (Some(machine), Some(stat)) = (machine, stat(fd)) {
            files.open.insert(fd, OpenFile { machine, inode: stat.st_ino });
        }
    }
    fd
}

/// See `open(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: passed on as it came.
    unsafe { open64(path, flags, mode) }
}

/// A descriptor is closed.
pub(super) fn closed(fd: c_int) {
    world().files.open.remove(&fd);
}

/// A descriptor stands for the same file as another.
pub(super) fn duplicated(fd: c_int, new: c_int) {
    let files = &mut world().files;
    if let Some(file) = files.open.get(&fd).copied() {
        files.open.insert(new, file);
    }
}

/// The files of a process that is gone: its descriptors lead nowhere, so that its locks are free.
pub(super) fn forget_open_files(machine: usize) {
    // SAFETY: a C string; the descriptor is closed below.
    let nowhere = unsafe { real::open64(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC, 0) };
    world().files.open.retain(|fd, file| {
        if file.machine == machine {
            // SAFETY: both are open; who still has the first reads and writes nothing.
            unsafe { libc::dup2(nowhere, *fd) };
        }
        file.machine != machine
    });
    // SAFETY: opened above.
    unsafe { real::close(nowhere) };
}

/// The machine loses power: takes back what was not synced, as far as the seed says.
pub(super) fn lose(machine: usize, random: &mut Random) {
    let files = &mut world().files;
    let mut inodes: Vec<u64> =
        files.unsynced.iter().filter(|(_, u)| u.machine == machine).map(|(i, _)| *i).collect();
    inodes.sort_unstable();
    for inode in inodes {
        let Some(file) = files.unsynced.remove(&inode) else { continue };
        // The disk has the first of the writes, none or all of them among the choices.
        let kept = random.below(file.changes.len() as u64 + 1) as usize;
        for (number, change) in file.changes.iter().enumerate().skip(kept).rev() {
            let torn = number == kept && random.one_in(2);
            let keep = match torn {
                true => random.below(change.written / SECTOR + 1) * SECTOR,
                false => 0,
            };
            put_back(file.fd, change, keep);
        }
        // SAFETY: a descriptor of our own.
        unsafe { real::close(file.fd) };
    }
}

/// Takes a write back, all but its first bytes.
fn put_back(fd: c_int, change: &Change, keep: u64) {
    let skip = keep.min(change.before.len() as u64);
    let rest = &change.before[skip as usize..];
    let len = change.len_before.max(if keep > 0 { change.at + keep } else { 0 });
    // SAFETY: a descriptor of our own, a buffer as long as said.
    unsafe {
        real::ftruncate64(fd, len as off64_t);
        if !rest.is_empty() {
            real::pwrite64(fd, rest.as_ptr().cast(), rest.len(), (change.at + skip) as off64_t);
        }
    }
}
