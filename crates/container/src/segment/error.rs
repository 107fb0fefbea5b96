//! Why bytes are not a segment or a record.

/// Bytes that are not what their place says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// Fewer bytes than the format has.
    #[error("{got} bytes where the segment format has {expected}")]
    Short {
        /// Bytes there are.
        got: u64,
        /// Bytes there should be.
        expected: u64,
    },
    /// Not the format's first bytes.
    #[error("no segment data here")]
    Magic,
    /// Written by a newer version.
    #[error("segment format version {0} is newer than this server")]
    Version(u16),
    /// A header whose own checksum is wrong, or which was written for another place.
    #[error("header checksum mismatch")]
    HeaderChecksum,
    /// Another container's or another number's segment.
    #[error("segment {number} of container {container} in the place of another")]
    Foreign {
        /// The container it says.
        container: u64,
        /// The number it says.
        number: u32,
    },
    /// Bytes of a block that changed since they were written.
    #[error("data checksum mismatch in block {local}")]
    DataChecksum {
        /// The block's number.
        local: u64,
    },
    /// Another block's record than the one looked for.
    #[error("record of block {got} in the place of block {expected}")]
    WrongBlock {
        /// The block there is.
        got: u64,
        /// The block there should be.
        expected: u64,
    },
}
