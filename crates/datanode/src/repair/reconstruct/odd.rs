//! Reasons for not using a source for a block.

use container::checksum::ChecksumError;
use erasure::ReplicaIndex;

/// A source's row of a block does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Odd {
    /// The row is of another replica.
    #[error("its row is of index {0}")]
    Index(i32),
    /// The row does not contain the length of the group.
    #[error("its row has no length of the group")]
    NoLength,
    /// The row's length of the group is not a number.
    #[error("its row has {0:?} for the length of the group")]
    Length(String),
    /// It ends before the others.
    #[error("it ends at {own}, the group at {group}")]
    Behind {
        /// Data bytes that its row covers.
        own: u64,
        /// Data bytes of the group.
        group: u64,
    },
    /// A chunk is missing.
    #[error("it has {count} chunks, and none at {offset}")]
    NoChunk {
        /// Chunks that it has.
        count: usize,
        /// Expected offset of the next one.
        offset: u64,
    },
    /// A chunk is another one than the group has.
    #[error("it has {len} bytes at {at}, not {length} at {offset}")]
    Chunk {
        /// Its offset.
        at: u64,
        /// Its bytes.
        len: u64,
        /// Its expected offset.
        offset: u64,
        /// The bytes it should have.
        length: u64,
    },
    /// A chunk's checksums are malformed.
    #[error("its checksums: {0}")]
    Checksums(#[from] ChecksumError),
    /// The checksums are of another kind than those of others.
    #[error("its checksum type differs")]
    Form,
    /// Its bytes are of another generation.
    #[error("its checksums differ from those of the stripe")]
    Generation,
}

/// A cell that was decoded has other checksums than its writer stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("index {0} has other checksums than the stripe")]
pub(super) struct OtherChecksums(pub ReplicaIndex);
