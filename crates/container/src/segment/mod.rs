//! The file that small blocks are packed into.
//!
//! A container appends blocks below a threshold to segment files instead of giving each a file of
//! its own. A segment is a [header](SegmentHeader) and records one after the other; a record is
//! a 32-byte [header](RecordHeader), the block's bytes, and zeros up to the next multiple of 8.
//! All numbers are little-endian; every header carries its own CRC-32C, and a record's also covers
//! the container and the offset it was written for, so that a record in the wrong place is no
//! record. Bytes are covered by a CRC-32C in the header and checked at every read.
//!
//! Records are never changed. Space comes back by punching holes into dead records
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
