//! Finds where a segment's good records end: after a crash the last ones may be half there.

use types::ContainerId;

use super::SegmentError;
use super::record::{RECORD_HEADER_LEN, RecordHeader, record_len};

/// How a run of records ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// With the last byte given.
    Clean,
    /// With bytes that are no good record.
    Torn(SegmentError),
}

/// A run of good records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// Where each record starts in the file, and its header.
    pub records: Vec<(u64, RecordHeader)>,
    /// Where the last good record ends in the file.
    pub end: u64,
    /// What comes after it.
    pub tail: Tail,
}

/// Reads records from `bytes`, which start at `offset` of a segment of `container`, until the
/// first that is not there with all its bytes.
pub fn scan(container: ContainerId, offset: u64, bytes: &[u8]) -> Scan {
    let mut scan = Scan { records: Vec::new(), end: offset, tail: Tail::Clean };
    let mut rest = bytes;
    while !rest.is_empty() {
        match next(container, scan.end, rest) {
            Ok((header, len)) => {
                scan.records.push((scan.end, header));
                scan.end += len as u64;
                rest = rest.get(len..).unwrap_or_default();
            }
            Err(error) => {
                scan.tail = Tail::Torn(error);
                break;
            }
        }
    }
    scan
}

fn next(
    container: ContainerId,
    offset: u64,
    bytes: &[u8],
) -> Result<(RecordHeader, usize), SegmentError> {
    let header = RecordHeader::decode(bytes, container, offset)?;
    let expected = record_len(header.len);
    let short = SegmentError::Short { got: bytes.len() as u64, expected };
    // The padding must be there too, or the next record would start beyond the end of the file.
    let record = bytes.get(..usize::try_from(expected).map_err(|_| short)?).ok_or(short)?;
    let start = RECORD_HEADER_LEN as usize;
    header.check(record.get(start..start + header.len as usize).ok_or(short)?)?;
    Ok((header, record.len()))
}
