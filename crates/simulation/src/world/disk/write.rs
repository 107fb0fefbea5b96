//! Writes and syncs.

use libc::{c_int, c_void, iovec, off64_t, size_t, ssize_t};

use super::super::epoll::later;
use super::super::hooks::{self, Hook};
use super::super::{clock, inside, real, world};
use super::damage::BLOCKS;
use super::loss::{Effect, Unsynced};
use super::{OpenFile, damage, file_of, len_of, names, step, volume};

/// Result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is done.
    Done,
    /// It is confirmed, and not written.
    Lost,
    /// It is confirmed, and written at this place.
    At(u64),
}

/// Before `len` bytes at `at` are changed: records the old bytes, or refuses.
fn about_to_change(fd: c_int, at: u64, len: u64, effect: Effect) -> Result<Fate, c_int> {
    let Some(file) = file_of(fd) else { return Ok(Fate::Done) };
    step(file.machine);
    // The process may have ended at this step, and then the descriptor leads nowhere.
    let Some(file) = file_of(fd) else { return Ok(Fate::Done) };
    let long = len_of(fd);
    let (disk, random) = (&world().machines[file.machine].disk, &mut world().random);
    let grows = match effect {
        Effect::Write => at + len > long,
        Effect::Resize(to) => to > long,
        Effect::Punch => false,
    };
    if disk.full && grows {
        return Err(libc::ENOSPC);
    }
    if volume::fails(file.machine, &file.path) || random.one_in(disk.errors.write) {
        return Err(libc::EIO);
    }
    let fate = match effect {
        Effect::Write if random.one_in(disk.errors.lost) => Fate::Lost,
        Effect::Write if random.one_in(disk.errors.misdirected) => {
            Fate::At(random.below(long.max(512) / 512) * 512)
        }
        _ => Fate::Done,
    };
    match fate {
        Fate::Done => note(fd, &file, at, len, effect),
        Fate::Lost if grows => note(fd, &file, long, 0, Effect::Resize(at + len)),
        Fate::Lost => {}
        Fate::At(other) => note(fd, &file, other, len, effect),
    }
    if fate == Fate::Lost && grows {
        // Bytes that were never written are a hole. SAFETY: the caller's descriptor.
        unsafe { real::ftruncate64(fd, (at + len) as off64_t) };
    }
    Ok(fate)
}

fn note(fd: c_int, file: &OpenFile, at: u64, len: u64, effect: Effect) {
    let number = world().files.count();
    let path = &file.path;
    world().note(|| format!("  {effect:?} of {len} at {at} of {}", path.display()));
    let unsynced = &mut world().files.unsynced;
    let of = unsynced.entry(file.inode).or_insert_with(|| Unsynced::new(file.machine, fd));
    of.note(number, at, len, effect);
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
pub(in super::super) unsafe fn write(fd: c_int, data: *const c_void, len: size_t) -> ssize_t {
    let part = iovec { iov_base: data.cast_mut(), iov_len: len };
    if file_of(fd).is_some() {
        if hooks::fires(Hook::Interrupt) {
            return real::fail(libc::EINTR) as ssize_t;
        }
        let len = hooks::part_of(Hook::ShortWrite, position(fd), len);
        // SAFETY: a part of the caller's buffers.
        return unsafe { write_parts(fd, &[iovec { iov_len: len, ..part }]) };
    }
    // SAFETY: passed through unchanged.
    unsafe { write_parts(fd, &[part]) }
}

/// Writes parts at the descriptor's position.
pub(in super::super) unsafe fn write_parts(fd: c_int, parts: &[iovec]) -> ssize_t {
    let count = parts.len() as c_int;
    if file_of(fd).is_some() {
        let len: usize = parts.iter().map(|p| p.iov_len).sum();
        let at = position(fd);
        match about_to_change(fd, at, len as u64, Effect::Write) {
            Err(error) => return real::fail(error) as ssize_t,
            Ok(Fate::Done) => {}
            Ok(fate) => {
                if let Fate::At(other) = fate {
                    // SAFETY: the caller gave that many parts.
                    unsafe { real::pwritev64(fd, parts.as_ptr(), count, other as off64_t) };
                }
                // SAFETY: moves the position of the caller's descriptor as the write would have.
                unsafe { libc::lseek64(fd, (at + len as u64) as off64_t, libc::SEEK_SET) };
                return len as ssize_t;
            }
        }
    }
    // SAFETY: passed through unchanged.
    unsafe { real::writev(fd, parts.as_ptr(), count) }
}

/// See `pwrite(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(fd: c_int, data: *const c_void, len: size_t, at: off64_t) -> ssize_t {
    let of_disk = file_of(fd).is_some();
    if of_disk && hooks::fires(Hook::Interrupt) {
        return real::fail(libc::EINTR) as ssize_t;
    }
    let len = if of_disk { hooks::part_of(Hook::ShortWrite, at as u64, len) } else { len };
    let at = match about_to_change(fd, at as u64, len as u64, Effect::Write) {
        Err(error) => return real::fail(error) as ssize_t,
        Ok(Fate::Lost) => return len as ssize_t,
        Ok(Fate::At(other)) => other as off64_t,
        Ok(Fate::Done) => at,
    };
    // SAFETY: passed through unchanged.
    unsafe { real::pwrite64(fd, data, len, at) }
}

/// See `pwrite(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite(fd: c_int, data: *const c_void, len: size_t, at: off64_t) -> ssize_t {
    // SAFETY: passed through unchanged.
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
    // SAFETY: the caller gave that many parts.
    let given = unsafe { std::slice::from_raw_parts(parts, count as usize) };
    let len: usize = given.iter().map(|p| p.iov_len).sum();
    let at = match about_to_change(fd, at as u64, len as u64, Effect::Write) {
        Err(error) => return real::fail(error) as ssize_t,
        Ok(Fate::Lost) => return len as ssize_t,
        Ok(Fate::At(other)) => other as off64_t,
        Ok(Fate::Done) => at,
    };
    // SAFETY: passed through unchanged.
    unsafe { real::pwritev64(fd, parts, count, at) }
}

/// See `pwritev(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pwritev(fd: c_int, parts: *const iovec, count: c_int, at: off64_t) -> ssize_t {
    // SAFETY: passed through unchanged.
    unsafe { pwritev64(fd, parts, count, at) }
}

/// See `ftruncate(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate64(fd: c_int, len: off64_t) -> c_int {
    let (long, to) = (len_of(fd), len as u64);
    let cut = long.saturating_sub(to);
    if let Err(error) = about_to_change(fd, long.min(to), cut, Effect::Resize(to)) {
        return real::fail(error);
    }
    // SAFETY: passed through unchanged.
    unsafe { real::ftruncate64(fd, len) }
}

/// See `ftruncate(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate(fd: c_int, len: off64_t) -> c_int {
    // SAFETY: passed through unchanged.
    unsafe { ftruncate64(fd, len) }
}

/// See `fallocate(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fallocate64(fd: c_int, mode: c_int, at: off64_t, len: off64_t) -> c_int {
    let long = len_of(fd);
    let (from, to) = (at as u64, (at + len) as u64);
    let changed = match mode {
        // A hole takes no space.
        mode if mode & libc::FALLOC_FL_PUNCH_HOLE != 0 => {
            about_to_change(fd, from, to.min(long).saturating_sub(from), Effect::Punch)
        }
        mode if mode & libc::FALLOC_FL_KEEP_SIZE != 0 => Ok(Fate::Done),
        _ => about_to_change(fd, long, 0, Effect::Resize(to.max(long))),
    };
    if let Err(error) = changed {
        return real::fail(error);
    }
    // SAFETY: passed through unchanged.
    unsafe { real::fallocate64(fd, mode, at, len) }
}

/// See `fallocate(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fallocate(fd: c_int, mode: c_int, at: off64_t, len: off64_t) -> c_int {
    // SAFETY: passed through unchanged.
    unsafe { fallocate64(fd, mode, at, len) }
}

/// Syncs the writes before the call; concurrent ones are left to the next call.
fn sync(fd: c_int) -> Option<c_int> {
    let file = file_of(fd)?;
    step(file.machine);
    let until = world().files.count();
    let disk = &world().machines[file.machine].disk;
    let (least, more) = (disk.sync, disk.sync_more);
    let takes = least + world().random.below(more.max(1));
    let path = &file.path;
    world().note(|| format!("  sync of {} takes {takes}", path.display()));
    clock::sleep_until(later(takes));
    let file = file_of(fd)?;
    let errors = world().machines[file.machine].disk.errors;
    let of_blocks = file.path.parent().is_some_and(|dir| dir.ends_with(BLOCKS));
    let random = &mut world().random;
    let failed = random.one_in(errors.sync)
        || of_blocks && random.one_in(errors.sync_blocks)
        || volume::fails(file.machine, &file.path);
    if let Some(mut of) = world().files.unsynced.remove(&file.inode) {
        let last = of.changes.iter().rev().find(|change| change.number <= until);
        let range = last.map(|change| (change.at, change.len));
        match failed {
            true => of.keep_any(until, &mut world().random.split()),
            false => of.synced(until),
        }
        if let Some((at, len)) = range.filter(|(_, len)| *len > 0 && !failed) {
            damage::note_end(&file, at, len);
        }
        match of.changes.is_empty() {
            true => of.close(),
            false => {
                world().files.unsynced.insert(file.inode, of);
            }
        }
    }
    if failed {
        return Some(real::fail(libc::EIO));
    }
    names::synced(&file, until);
    Some(0)
}

/// See `fsync(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: passed through unchanged.
    sync(fd).unwrap_or_else(|| if inside() { 0 } else { unsafe { real::fsync(fd) } })
}

/// See `fdatasync(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    // SAFETY: passed through unchanged.
    sync(fd).unwrap_or_else(|| if inside() { 0 } else { unsafe { real::fdatasync(fd) } })
}
