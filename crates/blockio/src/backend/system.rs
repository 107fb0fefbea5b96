//! The real system calls.
//!
//! **Invariant.** Files are read and changed only through the C library's functions: the simulation
//! replaces them, so that a power loss reverts unsynced writes and a disk can fail
//! (docs/simulation.md).

use std::collections::HashSet;
use std::ffi::{CString, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::Backend;

/// File systems that make a new file's name durable no later than the file's own sync returns:
/// their journals order the creation before it.
const NAMES_COVERED: [u64; 4] = [
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683E, // btrfs
    0x0102_1994, // tmpfs, where nothing is durable anyway
];

/// Converts offsets and lengths to the C library's type.
fn signed(offset: u64) -> io::Result<i64> {
    i64::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// The operating system's backend.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemBackend;

impl Backend for SystemBackend {
    fn open(&self, path: &Path, create: bool, direct: bool) -> io::Result<(File, bool)> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        if direct {
            options.custom_flags(OFlags::DIRECT.bits() as i32);
        }
        match options.open(path) {
            Err(e) if create && e.kind() == io::ErrorKind::NotFound => {}
            other => return other.map(|file| (file, false)),
        }
        match options.clone().create_new(true).open(path) {
            // Another thread was faster.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                options.open(path).map(|file| (file, false))
            }
            other => other.map(|file| (file, true)),
        }
    }

    fn write(
        &self,
        file: &File,
        _path: &Path,
        parts: &[IoSlice<'_>],
        offset: u64,
    ) -> io::Result<usize> {
        if let [part] = parts {
            return file.write_at(part, offset);
        }
        let count = libc::c_int::try_from(parts.len()).unwrap_or(libc::c_int::MAX);
        let at = signed(offset)?;
        // SAFETY: an `IoSlice` is an `iovec`, and the count is that of the slice.
        let written =
            unsafe { libc::pwritev64(file.as_raw_fd(), parts.as_ptr().cast(), count, at) };
        usize::try_from(written).map_err(|_| io::Error::last_os_error())
    }

    fn read(
        &self,
        file: &File,
        _path: &Path,
        buffer: &mut [u8],
        offset: u64,
        cached_only: bool,
    ) -> io::Result<usize> {
        if !cached_only {
            return file.read_at(buffer, offset);
        }
        let (part, at) = ([IoSliceMut::new(buffer)], signed(offset)?);
        // SAFETY: an `IoSliceMut` is an `iovec`, and the count is one.
        let read = unsafe {
            libc::preadv2(file.as_raw_fd(), part.as_ptr().cast(), 1, at, libc::RWF_NOWAIT)
        };
        usize::try_from(read).map_err(|_| io::Error::last_os_error())
    }

    fn sync(&self, file: &File, _path: &Path) -> io::Result<()> {
        file.sync_data()
    }

    fn start_writeback(&self, file: &File, _path: &Path, range: Range<u64>) {
        let (Ok(at), Ok(len)) =
            (signed(range.start), signed(range.end.saturating_sub(range.start)))
        else {
            return;
        };
        // Without a waiting flag, the call leaves errors of the device for the next sync. SAFETY:
        // the descriptor belongs to the file.
        unsafe { libc::sync_file_range(file.as_raw_fd(), at, len, libc::SYNC_FILE_RANGE_WRITE) };
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        crate::durable::sync_directory(path)
    }

    fn sync_covers_names(&self, path: &Path) -> bool {
        let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
        let mut fs = MaybeUninit::<libc::statfs>::uninit();
        // SAFETY: a C string, and a buffer of the result's type.
        let told = unsafe { libc::statfs(path.as_ptr(), fs.as_mut_ptr()) } == 0;
        // SAFETY: filled if the call succeeds.
        told && NAMES_COVERED.contains(&(unsafe { fs.assume_init() }.f_type as u64))
    }

    fn punch(&self, file: &File, _path: &Path, range: Range<u64>) -> io::Result<()> {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (at, len) = (signed(range.start)?, signed(range.end - range.start)?);
        // SAFETY: the descriptor belongs to the file.
        match unsafe { libc::fallocate64(file.as_raw_fd(), mode, at, len) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn truncate(&self, file: &File, _path: &Path, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, directory: &Path, most: usize) -> io::Result<Option<HashSet<OsString>>> {
        let mut names = HashSet::new();
        for entry in fs::read_dir(directory)? {
            if names.len() >= most {
                return Ok(None);
            }
            names.insert(entry?.file_name());
        }
        Ok(Some(names))
    }
}
