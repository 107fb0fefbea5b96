//! Errors of operations.

use std::io;
use std::path::{Path, PathBuf};

/// Kinds of errors that callers handle differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoErrorKind {
    /// The file does not exist.
    NotFound,
    /// The disk (or the quota) is full.
    NoSpace,
    /// The file ends before the requested bytes.
    Short,
    /// An earlier write of the file failed and was not repeated.
    WriteLost,
    /// The disk did not respond in time. The bytes may still exist.
    Late,
    /// The disk is shut down.
    Stopped,
    /// The disk has failed earlier and accepts no more writes.
    Failed,
    /// The file system cannot do it, such as a write beyond the maximum file size.
    Refused,
    /// The device has failed, or the file system because of the device.
    Device,
}

/// A failed operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{op} {}: {reason}", path.display())]
pub struct IoError {
    /// The operation.
    pub op: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// The kind of error.
    pub kind: IoErrorKind,
    /// The system's message.
    pub reason: String,
}

/// Errors that are independent of the request.
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
    /// Converts the system's error.
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
