//! What can be wrong with a request to encode, to decode, or to say where bytes are.

use crate::replica_index::ReplicaIndex;

/// What a caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The replication cannot be had at all.
    Unsupported,
    /// The buffers or numbers do not fit the request. A length of a replica may have been claimed
    /// wrongly by the node that has it.
    Invalid,
    /// More replicas are needed.
    TooFewReplicas,
    /// Replicas contradict each other: at least one of them has wrong bytes.
    Corrupt,
}

/// Why nothing was computed, or why what was computed must not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The numbers of replicas are outside of what the code can have.
    #[error("{data} data and {parity} parity replicas: there can be 1 of each to 255 together")]
    ReplicaCounts {
        /// Data replicas asked for.
        data: u32,
        /// Parity replicas asked for.
        parity: u32,
    },
    /// XOR has exactly one parity.
    #[error("xor with {parity} parity replicas: it has 1")]
    XorParity {
        /// Parity replicas asked for.
        parity: u32,
    },
    /// A cell must have bytes, and its size fit the wire's signed number.
    #[error("chunk size of {chunk_size} bytes: it can be 1 to {}", i32::MAX)]
    ChunkSize {
        /// Size asked for in bytes.
        chunk_size: u32,
    },
    /// No such replica.
    #[error("replica index {index}: they are 1 to {replicas}")]
    NoSuchReplica {
        /// The index asked for.
        index: u32,
        /// Replicas there are.
        replicas: u32,
    },
    /// A replica is named twice, or as lost and as available.
    #[error("replica {replica} is named twice")]
    NamedTwice {
        /// The replica.
        replica: ReplicaIndex,
    },
    /// A list of buffers is too short or too long.
    #[error("{found} buffers for {what}, {expected} are needed")]
    BufferCount {
        /// What the buffers are for.
        what: &'static str,
        /// Buffers needed.
        expected: usize,
        /// Buffers given.
        found: usize,
    },
    /// A buffer is not as long as its cell.
    #[error("buffer of replica {replica} has {found} bytes, its cell has {expected}")]
    BufferLength {
        /// The replica.
        replica: ReplicaIndex,
        /// Bytes the cell has.
        expected: u64,
        /// Bytes the buffer has.
        found: u64,
    },
    /// Only the last cells of a stripe can be short.
    #[error("data replica {replica} has {found} bytes, more than the {before} of the one before")]
    CellAfterPadding {
        /// The replica that is too long.
        replica: ReplicaIndex,
        /// Bytes of the replica before it.
        before: usize,
        /// Bytes it has.
        found: usize,
    },
    /// A range is not within the block group.
    #[error("bytes {start} to {end} are outside of the {length} bytes there are")]
    OutOfRange {
        /// First byte asked for.
        start: u64,
        /// Behind the last byte asked for.
        end: u64,
        /// Bytes there are.
        length: u64,
    },
    /// Fewer replicas than data cells.
    #[error("{available} replicas are available, {needed} are needed")]
    TooFewReplicas {
        /// Replicas needed.
        needed: usize,
        /// Replicas available.
        available: usize,
    },
    /// The replicas do not say what the data is. With the codes there are, d of them always do.
    #[error("replicas {sources:?} do not say what the data is")]
    NotDecodable {
        /// The replicas to decode from.
        sources: Vec<ReplicaIndex>,
    },
    /// All available replicas are needed to decode, none is left to check the result with.
    #[error("none of the {available} available replicas is left to check with")]
    NothingToCheckWith {
        /// Replicas available.
        available: usize,
    },
    /// What was decoded and encoded again is not what a replica has that was not used.
    #[error("replica {survivor} differs at byte {offset} from what replicas {sources:?} say")]
    Mismatch {
        /// The replica that was not used for decoding, or that must be padding here. It or one of
        /// `sources` is wrong.
        survivor: ReplicaIndex,
        /// First byte that differs, from the beginning of the buffers.
        offset: u64,
        /// The replicas that were decoded from.
        sources: Vec<ReplicaIndex>,
    },
}

impl Error {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::ReplicaCounts { .. } | Self::XorParity { .. } | Self::ChunkSize { .. } => {
                ErrorKind::Unsupported
            }
            Self::NoSuchReplica { .. }
            | Self::NamedTwice { .. }
            | Self::BufferCount { .. }
            | Self::BufferLength { .. }
            | Self::CellAfterPadding { .. }
            | Self::OutOfRange { .. } => ErrorKind::Invalid,
            Self::TooFewReplicas { .. }
            | Self::NotDecodable { .. }
            | Self::NothingToCheckWith { .. } => ErrorKind::TooFewReplicas,
            Self::Mismatch { .. } => ErrorKind::Corrupt,
        }
    }
}
