//! Verification of data against its checksums.

use proto::datanode::ChecksumData;

use super::compute::matches;
use super::{ChecksumError, kind};

/// Verifies all of a chunk's bytes. Data without checksums (NONE) passes.
///
/// # Errors
/// The first slice that differs, or a wrong number of entries for the length.
pub fn verify(sums: &ChecksumData, data: &[u8]) -> Result<(), ChecksumError> {
    if let (_, Some(slice)) = kind(sums)? {
        let (got, expected) = (sums.checksums.len(), data.len().div_ceil(slice));
        if got != expected {
            return Err(ChecksumError::Count { got, expected });
        }
    }
    verify_part(sums, 0, data)
}

/// Verifies the part of a chunk that starts at slice `first` and ends at the end of a slice or the
/// chunk.
///
/// # Errors
/// The first slice that differs (counted in the chunk), or too few entries for the length.
pub fn verify_part(sums: &ChecksumData, first: usize, data: &[u8]) -> Result<(), ChecksumError> {
    let (kind, Some(slice)) = kind(sums)? else { return Ok(()) };
    let expected = data.len().div_ceil(slice);
    let got = sums.checksums.len().saturating_sub(first);
    if got < expected {
        return Err(ChecksumError::Count { got, expected });
    }
    for (i, (part, sum)) in data.chunks(slice).zip(sums.checksums.iter().skip(first)).enumerate() {
        if !matches(kind, part, sum) {
            let slice_no = first.saturating_add(i);
            return Err(ChecksumError::Mismatch {
                slice: slice_no,
                offset: (slice_no as u64).saturating_mul(slice as u64),
            });
        }
    }
    Ok(())
}
