//! Names of files as the product resolves them. The directory of a run differs between parallel
//! runs of the same seed; the product sees the root that the world was created with, which is the
//! same for all.

use std::ffi::{CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::super::{real, world};
use super::{has_disk, path_of};

/// Without `.` and `..`: below the root there are no symbolic links.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain
}

/// See `realpath(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn realpath(path: *const c_char, resolved: *mut c_char) -> *mut c_char {
    // SAFETY: a C string, as the call asks for.
    let name = unsafe { path_of(path) };
    if !has_disk() || !name.starts_with(&world().files.root) {
        // SAFETY: passed through unchanged.
        return unsafe { real::realpath(path, resolved) };
    }
    let found = plain(name);
    let (true, Ok(found)) = (found.exists(), CString::new(found.as_os_str().as_bytes())) else {
        real::fail(libc::ENOENT);
        return std::ptr::null_mut();
    };
    // SAFETY: a C string, copied to where the caller has room for PATH_MAX bytes, or to new memory
    // that the caller frees.
    unsafe {
        match resolved.is_null() {
            true => libc::strdup(found.as_ptr()),
            false => libc::strcpy(resolved, found.as_ptr()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_left_out() {
        assert_eq!(plain(Path::new("/a/./b/../c")), Path::new("/a/c"));
    }
}
