//! Validation of file ranges: numbers come from messages.

use std::io;
use std::ops::Range;
use std::path::Path;

use crate::IoError;

/// Maximum length of an operation in bytes. No caller needs more, and memory is allocated for all
/// of it.
const MAX_LEN: usize = 1 << 30;

/// The range of an operation.
///
/// # Errors
/// If it exceeds the maximum file size or length.
pub(crate) fn check(
    op: &'static str,
    path: &Path,
    offset: u64,
    len: usize,
) -> Result<Range<u64>, IoError> {
    let end = offset.checked_add(len as u64).filter(|end| i64::try_from(*end).is_ok());
    match end {
        Some(end) if len <= MAX_LEN => Ok(offset..end),
        _ => {
            let reason = format!("{len} bytes at {offset} exceed the maximum file size");
            Err(IoError::of(op, path, &io::Error::new(io::ErrorKind::InvalidInput, reason)))
        }
    }
}
