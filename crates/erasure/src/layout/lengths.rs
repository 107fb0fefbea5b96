//! Lengths of a range on each replica.

use std::ops::Range;

use super::{BlockGroup, within};
use crate::Error;
use crate::replica_index::ReplicaIndex;

/// The lengths of the cells that are encoded or decoded together: the part of the same range of
/// offsets on every replica. The range may be a cell, a part of one, or many stripes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellLengths {
    group: Option<BlockGroup>,
    range: Range<u64>,
}

impl CellLengths {
    /// Every replica has `length` bytes: within full stripes.
    pub fn equal(length: u64) -> Self {
        Self { group: None, range: 0..length }
    }

    /// The length of a replica's part of the range.
    pub fn of(&self, replica: ReplicaIndex) -> u64 {
        let whole = self.range.end;
        let end = self.group.map_or(whole, |group| group.replica_length(replica).min(whole));
        end.saturating_sub(self.range.start)
    }

    /// Returns `true` if a replica has no bytes in the range: nothing must be read from it, and it
    /// is available even if its node is not.
    pub fn is_padding(&self, replica: ReplicaIndex) -> bool {
        self.of(replica) == 0
    }
}

impl BlockGroup {
    /// The lengths of all cells of one stripe, from 0.
    ///
    /// # Errors
    /// If there is no such stripe.
    pub fn stripe(self, stripe: u64) -> Result<CellLengths, Error> {
        let (chunk, length) = (u64::from(self.scheme.chunk_size()), self.longest_replica());
        let start = stripe.saturating_mul(chunk);
        let end = start.saturating_add(chunk);
        if start >= length {
            return Err(Error::OutOfRange { start, end, length });
        }
        self.lengths(start..end.min(length))
    }

    /// The lengths of a range of offsets on all replicas.
    ///
    /// # Errors
    /// If the longest replica does not have the whole range.
    pub fn lengths(self, range: Range<u64>) -> Result<CellLengths, Error> {
        within(&range, self.longest_replica())?;
        Ok(CellLengths { group: Some(self), range })
    }
}
