//! Cells: mapping between offsets of a block group and those of its replicas.

use std::ops::Range;

use super::{BlockGroup, divide, within};
use crate::Error;
use crate::replica_index::ReplicaIndex;
use crate::scheme::Scheme;

/// Position of one data byte of a block group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CellPosition {
    /// The stripe, from 0.
    pub stripe: u64,
    /// The data replica with the byte.
    pub replica: ReplicaIndex,
    /// Bytes before it in its cell.
    pub cell_offset: u64,
    /// Bytes before it in the replica's block.
    pub replica_offset: u64,
}

/// The part of one cell in a range of the block group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CellPart {
    /// Position of the first byte.
    pub position: CellPosition,
    /// Bytes before it in the block group.
    pub group_offset: u64,
    /// Bytes, at least 1.
    pub length: u64,
}

/// A cell as a chunk of a replica's block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chunk {
    /// The last part of Ozone's chunk name: 1 for stripe 0.
    pub number: u64,
    /// Bytes before it in the replica's block.
    pub offset: u64,
    /// Bytes, at least 1.
    pub length: u64,
}

impl Scheme {
    /// The replica and the offset of one data byte.
    pub fn locate(self, group_offset: u64) -> CellPosition {
        let chunk = u64::from(self.chunk_size());
        let (stripe, in_stripe) = divide(group_offset, self.stripe_size());
        let (cell, cell_offset) = divide(in_stripe, chunk);
        let position = usize::try_from(cell).unwrap_or(usize::MAX);
        let mut replicas = self.data_replicas();
        // There are d data cells in a stripe, so `nth` finds one.
        let replica = replicas.nth(position).unwrap_or(ReplicaIndex::FIRST);
        let replica_offset = stripe.saturating_mul(chunk).saturating_add(cell_offset);
        CellPosition { stripe, replica, cell_offset, replica_offset }
    }

    /// The offset in the block group of a byte of a data replica. `None` for a parity replica, and
    /// on overflow.
    pub fn group_offset(self, replica: ReplicaIndex, replica_offset: u64) -> Option<u64> {
        let replica = self.check(replica).ok().filter(|replica| self.is_data(*replica))?;
        let chunk = u64::from(self.chunk_size());
        let (stripe, cell_offset) = divide(replica_offset, chunk);
        let before = u64::try_from(replica.position()).ok()?.checked_mul(chunk)?;
        stripe.checked_mul(self.stripe_size())?.checked_add(before)?.checked_add(cell_offset)
    }
}

impl BlockGroup {
    /// The parts of cells that make up a range, in the order of the group.
    ///
    /// # Errors
    /// If the range exceeds the group.
    pub fn cells(self, range: Range<u64>) -> Result<impl Iterator<Item = CellPart>, Error> {
        within(&range, self.length)?;
        let (scheme, chunk) = (self.scheme, u64::from(self.scheme.chunk_size()));
        let mut at = range.start;
        Ok(std::iter::from_fn(move || {
            let rest = range.end.checked_sub(at).filter(|rest| *rest > 0)?;
            let position = scheme.locate(at);
            let length = chunk.saturating_sub(position.cell_offset).min(rest);
            let part = CellPart { position, group_offset: at, length };
            at = at.saturating_add(length);
            Some(part)
        }))
    }

    /// The chunks of one replica, data or parity, in order.
    pub fn chunks(self, replica: ReplicaIndex) -> impl Iterator<Item = Chunk> {
        let (all, size) = (self.replica_length(replica), u64::from(self.scheme.chunk_size()));
        let mut next = Chunk { number: 1, offset: 0, length: 0 };
        std::iter::from_fn(move || {
            let length = all.saturating_sub(next.offset).min(size);
            let chunk = Chunk { length, ..next };
            next.number = next.number.saturating_add(1);
            next.offset = next.offset.saturating_add(length);
            (length > 0).then_some(chunk)
        })
    }
}
