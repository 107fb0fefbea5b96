//! The system calls of a disk, behind a trait so that tests can make them fail.

pub mod faults;
mod system;

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::Path;

pub use system::SystemBackend;

/// The system calls of a disk. Calls block; `path` is for messages and tests.
pub trait Backend: Send + Sync + 'static {
    /// Opens a file for reading and writing; creates it on request. Returns `true` if it was
    /// created.
    ///
    /// # Errors
    /// Those of the system.
    fn open(&self, path: &Path, create: bool, direct: bool) -> io::Result<(File, bool)>;

    /// Writes at `offset`; may write fewer bytes than given.
    ///
    /// # Errors
    /// Those of the system.
    fn write(
        &self,
        file: &File,
        path: &Path,
        parts: &[IoSlice<'_>],
        offset: u64,
    ) -> io::Result<usize>;

    /// Reads at `offset`; may read fewer bytes than requested. With `cached_only`, fails with
    /// `WouldBlock` instead of waiting for the device.
    ///
    /// # Errors
    /// Those of the system.
    fn read(
        &self,
        file: &File,
        path: &Path,
        buffer: &mut [u8],
        offset: u64,
        cached_only: bool,
    ) -> io::Result<usize>;

    /// Makes a file's data and length durable.
    ///
    /// # Errors
    /// Those of the system.
    fn sync(&self, file: &File, path: &Path) -> io::Result<()>;

    /// Starts the write-back of a range written before, so that a later sync of the file is
    /// shorter. A hint: errors are left to that sync.
    fn start_writeback(&self, file: &File, path: &Path, range: Range<u64>);

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// Those of the system.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// Returns `true` if syncing a new file also makes its name durable on the file system of
    /// `path`.
    fn sync_covers_names(&self, path: &Path) -> bool;

    /// Returns a range of a file to the file system; it reads as zeros afterwards.
    ///
    /// # Errors
    /// Those of the system.
    fn punch(&self, file: &File, path: &Path, range: Range<u64>) -> io::Result<()>;

    /// Sets a file's length.
    ///
    /// # Errors
    /// Those of the system.
    fn truncate(&self, file: &File, path: &Path, len: u64) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Those of the system.
    fn unlink(&self, path: &Path) -> io::Result<()>;

    /// The names in a directory; `None` if there are more than `most`.
    ///
    /// # Errors
    /// Those of the system.
    fn list(&self, directory: &Path, most: usize) -> io::Result<Option<HashSet<OsString>>>;
}
