//! Validation of the caller's buffers.

use crate::Error;

/// Checks the number of buffers.
pub fn expect_buffers(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::BufferCount { what, expected, found }) }
}

/// Converts a memory length to a file length.
pub fn in_bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
