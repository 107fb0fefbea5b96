//! Which ranges of a file may be asked for: numbers come from messages.

use std::io;
use std::ops::Range;
use std::path::Path;

use crate::IoError;

/// Bytes of the longest operation. No caller wants more, and memory is had for all of them.
const MAX_LEN: usize = 1 << 30;

/// The range of an operation.
///
/// # Errors
/// When no file reaches that far, or it is too long.
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
            let reason = format!("no file has {len} bytes at {offset}");
            Err(IoError::of(op, path, &io::Error::new(io::ErrorKind::InvalidInput, reason)))
        }
    }
}
