//! Errors of decoding segments and records.

/// Bytes that do not match their position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// Fewer bytes than the format has.
    #[error("{got} bytes where the segment format has {expected}")]
    Short {
        /// Actual number of bytes.
        got: u64,
        /// Expected number of bytes.
        expected: u64,
    },
    /// The magic bytes are missing.
    #[error("not segment data")]
    Magic,
    /// Written by a newer version.
    #[error("segment format version {0} is newer than this server")]
    Version(u16),
    /// The header's own checksum is wrong, or it was written for another position.
    #[error("header checksum mismatch")]
    HeaderChecksum,
    /// The segment of another container, or with another number.
    #[error("segment {number} of container {container} in the place of another")]
    Foreign {
        /// The container in the header.
        container: u64,
        /// The number in the header.
        number: u32,
    },
    /// Data of a block that has changed since it was written.
    #[error("data checksum mismatch in block {local}")]
    DataChecksum {
        /// The block's number.
        local: u64,
    },
    /// The record of another block than the requested one.
    #[error("record of block {got} in the place of block {expected}")]
    WrongBlock {
        /// The actual block.
        got: u64,
        /// The expected block.
        expected: u64,
    },
}
