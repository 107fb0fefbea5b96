//! The system calls a disk makes, behind a trait so that tests can make them fail.

pub mod faults;
mod system;

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::Path;

pub use system::SystemBackend;

/// What a disk asks of the system. Calls block; `path` is for messages and tests.
pub trait Backend: Send + Sync + 'static {
    /// Opens a file for reading and writing; makes it when asked to. Says whether it was made.
    ///
    /// # Errors
    /// The system's.
    fn open(&self, path: &Path, create: bool, direct: bool) -> io::Result<(File, bool)>;

    /// Writes at `offset`; may write less than given.
    ///
    /// # Errors
    /// The system's.
    fn write(
        &self,
        file: &File,
        path: &Path,
        parts: &[IoSlice<'_>],
        offset: u64,
    ) -> io::Result<usize>;

    /// Reads at `offset`; may read less than asked. With `cached_only`, fails with `WouldBlock`
    /// rather than wait for the device.
    ///
    /// # Errors
    /// The system's.
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
    /// The system's.
    fn sync(&self, file: &File, path: &Path) -> io::Result<()>;

    /// Has the device begin to write a range that was written before; a sync of the file later has
    /// less to wait for. A hint: what fails is left to that sync.
    fn start_writeback(&self, file: &File, path: &Path, range: Range<u64>);

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// The system's.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// Whether syncing a new file also makes its name durable on the file system at `path`.
    fn sync_covers_names(&self, path: &Path) -> bool;

    /// Gives a range of a file back to the file system; it reads as zeros afterwards.
    ///
    /// # Errors
    /// The system's.
    fn punch(&self, file: &File, path: &Path, range: Range<u64>) -> io::Result<()>;

    /// Sets a file's length.
    ///
    /// # Errors
    /// The system's.
    fn truncate(&self, file: &File, path: &Path, len: u64) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The system's.
    fn unlink(&self, path: &Path) -> io::Result<()>;

    /// The names in a directory; `None` when there are more than `most`.
    ///
    /// # Errors
    /// The system's.
    fn list(&self, directory: &Path, most: usize) -> io::Result<Option<HashSet<OsString>>>;
}
