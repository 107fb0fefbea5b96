//! Comparing the buffers that a caller gives with those that are needed.

use crate::Error;

/// Compares how many buffers there are with how many there have to be.
pub fn expect_buffers(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::BufferCount { what, expected, found }) }
}

/// A length of memory as a length of a file.
pub fn in_bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
