//! Errors of checksums.

/// Invalid checksum data, or data that does not match its checksums.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChecksumError {
    /// A type number outside `ChecksumType`.
    #[error("unknown checksum type {0}")]
    UnknownType(i32),
    /// A type other than NONE with `bytesPerChecksum` 0.
    #[error("bytesPerChecksum is 0")]
    NoSliceLength,
    /// The number of entries does not match the data.
    #[error("{got} checksums for data that has {expected} slices")]
    Count {
        /// Actual number of entries.
        got: usize,
        /// Number of slices of the data.
        expected: usize,
    },
    /// A checksum of the wrong length for its type.
    #[error("the checksum of slice {slice} does not have {width} bytes")]
    Width {
        /// The slice.
        slice: usize,
        /// Expected number of bytes.
        width: usize,
    },
    /// A slice does not match its checksum.
    #[error("checksum mismatch at slice {slice}, which starts at byte {offset}")]
    Mismatch {
        /// The slice.
        slice: usize,
        /// Start of the slice in the data.
        offset: u64,
    },
    /// A part that is not aligned to slices.
    #[error("part {offset}+{len} of {chunk_len} bytes does not lie on slices of {slice} bytes")]
    Unaligned {
        /// Start of the part in the chunk.
        offset: u64,
        /// Length of the part.
        len: u64,
        /// Length of the chunk.
        chunk_len: u64,
        /// Slice length.
        slice: u64,
    },
}
