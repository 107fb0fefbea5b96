//! The file format for packed small blocks.
//!
//! A container appends blocks below a threshold to segment files instead of giving each a file of
//! its own. A segment is a [header](SegmentHeader) followed by records; a record is a 32-byte
//! [header](RecordHeader), the block's bytes, and zeros up to the next multiple of 8. All numbers
//! are little-endian; every header carries its own CRC-32C, and a record's also covers the
//! container and the offset it was written for, so that a misplaced record is invalid. Data is
//! covered by a CRC-32C in the header and verified at every read.
//!
//! Records are never changed. Space is reclaimed by punching holes into dead records
//! ([`space::holes`]), by unlinking a segment without live ones, and by copying the live ones
//! elsewhere ([`space::worth_compacting`]).

mod error;
mod header;
mod info;
mod record;
pub mod space;

pub use error::SegmentError;
pub use header::{SEGMENT_HEADER_LEN, SegmentHeader};
pub use info::SegmentInfo;
pub use record::{RECORD_ALIGN, RECORD_HEADER_LEN, RecordHeader, padding, record_len};
