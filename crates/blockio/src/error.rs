//! Why an operation failed.

use std::io;
use std::path::{Path, PathBuf};

/// Kinds of failure that callers treat differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoErrorKind {
    /// The file is not there.
    NotFound,
    /// The disk (or the quota) is full.
    NoSpace,
    /// The file ends before the bytes asked for.
    Short,
    /// An earlier write of the file failed and was not repeated.
    WriteLost,
    /// The disk did not answer in time. The bytes may be there all the same.
    Late,
    /// The disk is shut down.
    Stopped,
    /// The disk has failed earlier and takes no more writes.
    Failed,
    /// The file system cannot do what was asked, such as write behind the largest file.
    Refused,
    /// The device, or the file system for the device's sake, fails.
    Device,
}

/// A failed operation: what, on which file, why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{op} {}: {reason}", path.display())]
pub struct IoError {
    /// The operation.
    pub op: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// What kind of failure.
    pub kind: IoErrorKind,
    /// The system's words.
    pub reason: String,
}

/// Errors that say nothing about the request.
fn is_of_the_device(number: i32) -> bool {
    matches!(
        number,
        libc::EIO
            | libc::EROFS
            | libc::ENXIO
            | libc::ENODEV
            | libc::EUCLEAN
            | libc::EREMOTEIO
            | libc::ESTALE
            | libc::ENOTCONN
            | libc::ETIMEDOUT
    )
}

impl IoError {
    /// From the system's error.
    pub fn of(op: &'static str, path: &Path, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => IoErrorKind::NotFound,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => IoErrorKind::NoSpace,
            io::ErrorKind::UnexpectedEof => IoErrorKind::Short,
            _ if error.raw_os_error().is_some_and(is_of_the_device) => IoErrorKind::Device,
            _ => IoErrorKind::Refused,
        };
        Self::new(op, path, kind, error.to_string())
    }

    pub(crate) fn new(
        op: &'static str,
        path: &Path,
        kind: IoErrorKind,
        reason: impl Into<String>,
    ) -> Self {
        Self { op, path: path.to_owned(), kind, reason: reason.into() }
    }
}
