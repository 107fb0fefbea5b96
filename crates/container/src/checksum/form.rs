//! Validation of checksums against a data length.

use proto::datanode::{ChecksumData, ChecksumType};

use super::{ChecksumError, kind};

/// Checks the type, the number and the lengths of the checksums of a chunk of `len` bytes.
///
/// # Errors
/// If no data of that length has such checksums.
pub fn check_form(sums: &ChecksumData, len: u64) -> Result<(), ChecksumError> {
    let (kind, slice) = kind(sums)?;
    let expected = match slice {
        None => 0,
        Some(slice) => len.div_ceil(slice as u64),
    };
    let got = sums.checksums.len();
    if got as u64 != expected {
        let expected = usize::try_from(expected).unwrap_or(usize::MAX);
        return Err(ChecksumError::Count { got, expected });
    }
    let width = width(kind);
    match sums.checksums.iter().position(|sum| sum.len() != width) {
        None => Ok(()),
        Some(slice) => Err(ChecksumError::Width { slice, width }),
    }
}

/// Bytes of one checksum.
fn width(kind: ChecksumType) -> usize {
    match kind {
        ChecksumType::None => 0,
        ChecksumType::Crc32 | ChecksumType::Crc32c => 4,
        ChecksumType::Md5 => 16,
        ChecksumType::Sha256 => 32,
    }
}
