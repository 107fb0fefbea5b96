//! Why checksums do not fit their data.

/// Checksum data that cannot be used, or data that does not have the checksums it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChecksumError {
    /// A type number outside `ChecksumType`.
    #[error("unknown checksum type {0}")]
    UnknownType(i32),
    /// A type other than NONE with `bytesPerChecksum` 0.
    #[error("bytesPerChecksum is 0")]
    NoSliceLength,
    /// Too many or too few entries for the data.
    #[error("{got} checksums for data that has {expected} slices")]
    Count {
        /// Entries there are.
        got: usize,
        /// Slices the data has.
        expected: usize,
    },
    /// A checksum that is longer or shorter than those of its type.
    #[error("the checksum of slice {slice} does not have {width} bytes")]
    Width {
        /// Which slice of the data.
        slice: usize,
        /// Bytes it should have.
        width: usize,
    },
    /// A slice does not have its checksum.
    #[error("checksum mismatch at slice {slice}, which starts at byte {offset}")]
    Mismatch {
        /// Which slice of the data.
        slice: usize,
        /// Where in the data it starts.
        offset: u64,
    },
    /// A part that does not start and end where slices do.
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
