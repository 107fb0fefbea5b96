//! Mapping of a block group to its replicas.
//!
//! ```text
//! rs-3-2, chunk size c, group of 4c + 100 bytes:
//!
//!             replica 1    replica 2    replica 3    replica 4, 5
//! stripe 0    0 .. c       c .. 2c      2c .. 3c     parity, c bytes
//! stripe 1    3c .. 4c     100 bytes    -            parity, c bytes
//! ```
//!
//! The cells of one stripe are at the same offset of every replica, so that the same range of every
//! replica is encoded and decoded together; a replica that ends before it counts as zeros there,
//! which no replica stores. Offsets count from the beginning of the group, or from that of a
//! replica.
//!
//! * [`cell`]: mapping between offsets of the group and of a replica; the cells of a range
//! * [`lengths`]: the cells of a range of all replicas, as codec and decoder require them

pub mod cell;
pub mod lengths;

use std::ops::Range;

pub use cell::{CellPart, CellPosition, Chunk};
pub use lengths::CellLengths;

use crate::Error;
use crate::replica_index::ReplicaIndex;
use crate::scheme::Scheme;

/// A block group: one block of d + p replicas, and the number of its data bytes (`blockGroupLen`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockGroup {
    scheme: Scheme,
    length: u64,
}

impl BlockGroup {
    /// A block group of `length` data bytes.
    pub fn new(scheme: Scheme, length: u64) -> Self {
        Self { scheme, length }
    }

    /// The scheme.
    pub fn scheme(self) -> Scheme {
        self.scheme
    }

    /// Number of data bytes.
    pub fn length(self) -> u64 {
        self.length
    }

    /// Number of stripes, the last of which may be partial.
    pub fn stripes(self) -> u64 {
        self.length.div_ceil(self.scheme.stripe_size().max(1))
    }

    /// Length of one replica's block; that of a parity replica equals the first.
    pub fn replica_length(self, replica: ReplicaIndex) -> u64 {
        let chunk = u64::from(self.scheme.chunk_size());
        let (full, rest) = divide(self.length, self.scheme.stripe_size());
        let cells_before = if self.scheme.is_data(replica) { replica.position() } else { 0 };
        let bytes_before = chunk.saturating_mul(u64::try_from(cells_before).unwrap_or(u64::MAX));
        let last = rest.saturating_sub(bytes_before).min(chunk);
        // At most the length of the group.
        full.saturating_mul(chunk).saturating_add(last)
    }

    /// Length of the longest replica: the first, and every parity replica.
    pub fn longest_replica(self) -> u64 {
        let chunk = u64::from(self.scheme.chunk_size());
        let (full, rest) = divide(self.length, self.scheme.stripe_size());
        full.saturating_mul(chunk).saturating_add(rest.min(chunk))
    }

    /// Returns `true` if a replica has no bytes at all: its block is recorded, but there is nothing
    /// to read.
    pub fn is_padding(self, replica: ReplicaIndex) -> bool {
        self.replica_length(replica) == 0
    }

    /// The part of each data replica that has bytes of a range of the group; replicas without any
    /// are omitted. It covers exactly the replica's bytes in the range.
    ///
    /// # Errors
    /// If the range exceeds the group.
    pub fn replica_ranges(
        self,
        range: Range<u64>,
    ) -> Result<Vec<(ReplicaIndex, Range<u64>)>, Error> {
        within(&range, self.length)?;
        // The lengths of a group's prefixes are the start and end of the range in each replica.
        let (before, all) =
            (Self { length: range.start, ..self }, Self { length: range.end, ..self });
        Ok(self
            .scheme
            .data_replicas()
            .map(|replica| (replica, before.replica_length(replica)..all.replica_length(replica)))
            .filter(|(_, part)| !part.is_empty())
            .collect())
    }
}

/// Checks that a range does not exceed the length.
fn within(range: &Range<u64>, length: u64) -> Result<(), Error> {
    if range.start <= range.end && range.end <= length {
        return Ok(());
    }
    Err(Error::OutOfRange { start: range.start, end: range.end, length })
}

/// Quotient and remainder; sizes of a scheme are never 0.
fn divide(number: u64, by: u64) -> (u64, u64) {
    (number.checked_div(by).unwrap_or(0), number.checked_rem(by).unwrap_or(0))
}
