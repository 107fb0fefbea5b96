//! Reads. They see what was written, whether it is synced or not, and can fail.

use libc::{c_int, c_void, iovec, off64_t, size_t, ssize_t};

use super::super::epoll::later;
use super::super::hooks::{self, Hook};
use super::super::{clock, real, world};
use super::{file_of, volume};

/// Decides if a read of a file fails.
pub(in super::super) fn about_to_read(fd: c_int) -> Result<(), c_int> {
    let Some(file) = file_of(fd) else { return Ok(()) };
    let late = world().machines[file.machine].disk.late;
    if let Some(late) = late.filter(|late| file.path.iter().any(|part| part == late.below)) {
        clock::sleep_until(later(late.lasts));
    }
    let errors = world().machines[file.machine].disk.errors;
    if hooks::fires(Hook::Interrupt) {
        return Err(libc::EINTR);
    }
    match volume::fails(file.machine, &file.path) || world().random.one_in(errors.read) {
        true => Err(libc::EIO),
        false => Ok(()),
    }
}

/// Maximum of bytes that a read of `len` bytes returns.
pub(in super::super) fn short(fd: c_int, at: u64, len: size_t) -> size_t {
    match file_of(fd) {
        Some(_) => hooks::part_of(Hook::ShortRead, at, len),
        None => len,
    }
}

/// See `pread(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pread64(fd: c_int, data: *mut c_void, len: size_t, at: off64_t) -> ssize_t {
    if let Err(error) = about_to_read(fd) {
        return real::fail(error) as ssize_t;
    }
    let len = short(fd, at as u64, len);
    // SAFETY: passed through unchanged, or with room for more.
    unsafe { real::pread64(fd, data, len, at) }
}

/// See `pread(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pread(fd: c_int, data: *mut c_void, len: size_t, at: off64_t) -> ssize_t {
    // SAFETY: passed through unchanged.
    unsafe { pread64(fd, data, len, at) }
}

/// See `preadv2(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn preadv2(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    at: off64_t,
    flags: c_int,
) -> ssize_t {
    if let Err(error) = about_to_read(fd) {
        return real::fail(error) as ssize_t;
    }
    // SAFETY: passed through unchanged.
    unsafe { real::preadv2(fd, parts, count, at, flags) }
}
