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
    /// The disk is shut down.
    Stopped,
    /// The device or the file system says no.
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

impl IoError {
    /// From the system's error.
    pub fn of(op: &'static str, path: &Path, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => IoErrorKind::NotFound,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => IoErrorKind::NoSpace,
            io::ErrorKind::UnexpectedEof => IoErrorKind::Short,
            _ => IoErrorKind::Device,
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
