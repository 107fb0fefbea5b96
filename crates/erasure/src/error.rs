//! Errors of encoding, decoding, and of the layout.

use crate::replica_index::ReplicaIndex;

/// Kind of an [`Error`], by the caller's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The replication is not supported.
    Unsupported,
    /// The buffers or numbers do not fit the request. A node may have reported a wrong length of a
    /// replica.
    Invalid,
    /// More replicas are needed.
    TooFewReplicas,
    /// Replicas contradict each other: at least one of them has wrong bytes.
    Corrupt,
}

/// Reasons why nothing was computed, or the result must not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The numbers of replicas exceed the limits of the code.
    #[error(
        "{data} data and {parity} parity replicas: at least 1 of each and at most 255 in total are supported"
    )]
    ReplicaCounts {
        /// Requested data replicas.
        data: u32,
        /// Requested parity replicas.
        parity: u32,
    },
    /// XOR has exactly one parity.
    #[error("xor with {parity} parity replicas: it has 1")]
    XorParity {
        /// Requested parity replicas.
        parity: u32,
    },
    /// A cell must not be empty, and its size must fit the wire's signed number.
    #[error("chunk size of {chunk_size} bytes: it can be 1 to {}", i32::MAX)]
    ChunkSize {
        /// Requested size in bytes.
        chunk_size: u32,
    },
    /// No such replica.
    #[error("replica index {index}: they are 1 to {replicas}")]
    NoSuchReplica {
        /// The requested index.
        index: u32,
        /// Number of replicas.
        replicas: u32,
    },
    /// A replica is listed twice, or both as lost and as available.
    #[error("replica {replica} is listed twice")]
    NamedTwice {
        /// The replica.
        replica: ReplicaIndex,
    },
    /// A list of buffers is too short or too long.
    #[error("{found} buffers for {what}, {expected} are needed")]
    BufferCount {
        /// The use of the buffers.
        what: &'static str,
        /// Buffers needed.
        expected: usize,
        /// Buffers given.
        found: usize,
    },
    /// A buffer differs in length from its cell.
    #[error("buffer of replica {replica} has {found} bytes, its cell has {expected}")]
    BufferLength {
        /// The replica.
        replica: ReplicaIndex,
        /// Length of the cell.
        expected: u64,
        /// Length of the buffer.
        found: u64,
    },
    /// Only the last cells of a stripe can be short.
    #[error(
        "data replica {replica} has {found} bytes, more than the {before} of the preceding one"
    )]
    CellAfterPadding {
        /// The replica that is too long.
        replica: ReplicaIndex,
        /// Length of the preceding replica.
        before: usize,
        /// Its length.
        found: usize,
    },
    /// A range exceeds the block group.
    #[error("bytes {start} to {end} are outside of the block group of {length} bytes")]
    OutOfRange {
        /// First requested byte.
        start: u64,
        /// End of the requested range.
        end: u64,
        /// Length of the block group.
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
    /// The replicas do not determine the data. With the existing codes, d of them always do.
    #[error("replicas {sources:?} do not determine the data")]
    NotDecodable {
        /// The replicas to decode from.
        sources: Vec<ReplicaIndex>,
    },
    /// All available replicas are needed for decoding, so none can verify the result.
    #[error("none of the {available} available replicas is left to check with")]
    NothingToCheckWith {
        /// Replicas available.
        available: usize,
    },
    /// The re-encoded result differs from an unused replica.
    #[error("replica {survivor} differs at byte {offset} from the data of replicas {sources:?}")]
    Mismatch {
        /// The replica that was not used for decoding, or that must be padding here. It or one of
        /// `sources` is wrong.
        survivor: ReplicaIndex,
        /// First byte that differs, counted from the beginning of the buffers.
        offset: u64,
        /// The replicas used for decoding.
        sources: Vec<ReplicaIndex>,
    },
}

impl Error {
    /// The kind of error.
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
