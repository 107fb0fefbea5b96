//! Checksums of complete data.

use bytes::Bytes;
use md5::Md5;
use proto::datanode::{ChecksumData, ChecksumType};
use sha2::{Digest, Sha256};

/// Computes the checksums of `data` in slices of `bytes_per_checksum` (0 for one slice).
pub fn compute(kind: ChecksumType, bytes_per_checksum: u32, data: &[u8]) -> ChecksumData {
    if kind == ChecksumType::None {
        return super::none();
    }
    let slice = match bytes_per_checksum {
        0 => data.len().max(1),
        n => n as usize,
    };
    let checksums = match kind.width() {
        4 => compute_crcs(kind, slice, data),
        _ => data.chunks(slice).map(|part| compute_slice(kind, part)).collect(),
    };
    let bytes_per_checksum = u32::try_from(slice).unwrap_or(u32::MAX);
    ChecksumData { r#type: kind as i32, bytes_per_checksum, checksums }
}

/// All four-byte checksums share one allocation: a chunk of 4 MiB has 256 of them.
fn compute_crcs(kind: ChecksumType, slice: usize, data: &[u8]) -> Vec<Bytes> {
    let count = data.len().div_ceil(slice);
    let mut all = Vec::with_capacity(count.saturating_mul(4));
    for part in data.chunks(slice) {
        all.extend_from_slice(&crc(kind, part).to_be_bytes());
    }
    let mut all = Bytes::from(all);
    (0..count).map(|_| all.split_to(4.min(all.len()))).collect()
}

/// The checksum of one slice; empty for NONE.
pub fn compute_slice(kind: ChecksumType, part: &[u8]) -> Bytes {
    match kind {
        ChecksumType::None => Bytes::new(),
        ChecksumType::Crc32 | ChecksumType::Crc32c => {
            Bytes::copy_from_slice(&crc(kind, part).to_be_bytes())
        }
        ChecksumType::Sha256 => Bytes::copy_from_slice(&Sha256::digest(part)),
        ChecksumType::Md5 => Bytes::copy_from_slice(&Md5::digest(part)),
    }
}

/// Returns `true` if `expected` is the checksum of `part`.
pub(super) fn matches(kind: ChecksumType, part: &[u8], expected: &[u8]) -> bool {
    match kind {
        ChecksumType::None => true,
        ChecksumType::Crc32 | ChecksumType::Crc32c => crc(kind, part).to_be_bytes() == *expected,
        ChecksumType::Sha256 => *Sha256::digest(part) == *expected,
        ChecksumType::Md5 => *Md5::digest(part) == *expected,
    }
}

fn crc(kind: ChecksumType, part: &[u8]) -> u32 {
    match kind {
        ChecksumType::Crc32c => crc_fast::crc32_iscsi(part),
        _ => crc_fast::crc32_iso_hdlc(part),
    }
}

/// Widths of checksums, which determine their storage.
trait Width {
    fn width(self) -> usize;
}

impl Width for ChecksumType {
    fn width(self) -> usize {
        match self {
            ChecksumType::None => 0,
            ChecksumType::Crc32 | ChecksumType::Crc32c => 4,
            ChecksumType::Md5 => 16,
            ChecksumType::Sha256 => 32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values_are_those_of_the_published_clients() {
        let cases = [
            (ChecksumType::Crc32, "cbf43926"),
            (ChecksumType::Crc32c, "e3069283"),
            (ChecksumType::Md5, "25f9e794323b453885f5181f1b624d0b"),
            (
                ChecksumType::Sha256,
                "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225",
            ),
            (ChecksumType::None, ""),
        ];
        for (kind, expected) in cases {
            assert_eq!(hex::encode(compute_slice(kind, b"123456789")), expected, "{kind:?}");
        }
    }

    #[test]
    fn a_chunk_of_50000_bytes_has_four_checksums() {
        let sums = compute(ChecksumType::Crc32, 16 << 10, &[7; 50_000]);
        assert_eq!(sums.checksums.len(), 4);
        assert_eq!(sums.bytes_per_checksum, 16 << 10);
        assert_eq!(
            sums.checksums[3],
            compute_slice(ChecksumType::Crc32, &[7; 50_000 - 3 * 16_384])
        );
    }

    #[test]
    fn no_checksums_and_no_data_have_no_entries() {
        assert!(compute(ChecksumType::None, 16, b"abc").checksums.is_empty());
        assert!(compute(ChecksumType::Crc32, 16, b"").checksums.is_empty());
    }
}
