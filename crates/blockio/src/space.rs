//! Space of a file system.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Space of a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystemSpace {
    /// Total space.
    pub capacity: u64,
    /// Space available to ordinary users.
    pub available: u64,
}

/// Returns the space of the file system that contains a path. Uses the C library's function, so
/// that the simulation can replace it.
///
/// # Errors
/// If there is no such path, or the file system returns an error.
pub fn file_system_space(path: &Path) -> io::Result<FileSystemSpace> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut fs = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: a C string, and a buffer of the result's type.
    if unsafe { libc::statvfs(path.as_ptr(), fs.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: filled, since the call succeeded.
    let fs = unsafe { fs.assume_init() };
    let bytes = |blocks: libc::fsblkcnt_t| blocks.saturating_mul(fs.f_frsize);
    Ok(FileSystemSpace { capacity: bytes(fs.f_blocks), available: bytes(fs.f_bavail) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_has_space_and_what_is_not_there_has_none() {
        let space = file_system_space(&std::env::temp_dir()).unwrap();
        assert!(space.capacity > 0 && space.available <= space.capacity);
        assert!(file_system_space(Path::new("/no/such/directory")).is_err());
    }
}
