//! The header of a segment file.

use types::ContainerId;

use super::SegmentError;

/// Length of [`SegmentHeader`] in the file; the first record follows.
pub const SEGMENT_HEADER_LEN: u64 = LEN as u64;

const LEN: usize = 64;

const MAGIC: [u8; 8] = *b"O3SEGMNT";
const VERSION: u16 = 1;
const CRC_AT: usize = 60;

/// Identifies the owner of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The container that owns it.
    pub container: ContainerId,
    /// Its number in the container, from 1.
    pub number: u32,
}

impl SegmentHeader {
    /// Encodes the header.
    pub fn encode(&self) -> [u8; LEN] {
        let mut out = [0; LEN];
        out[..8].copy_from_slice(&MAGIC);
        out[8..10].copy_from_slice(&VERSION.to_le_bytes());
        out[12..16].copy_from_slice(&self.number.to_le_bytes());
        out[16..24].copy_from_slice(&self.container.0.to_le_bytes());
        let crc = crc_fast::crc32_iscsi(&out[..CRC_AT]);
        out[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes a header.
    ///
    /// # Errors
    /// If the bytes are not a header of a known version.
    pub fn decode(bytes: &[u8]) -> Result<Self, SegmentError> {
        let short = SegmentError::Short { got: bytes.len() as u64, expected: SEGMENT_HEADER_LEN };
        let bytes = bytes.first_chunk::<LEN>().ok_or(short)?;
        let (body, crc) = bytes.split_at(CRC_AT);
        if body[..8] != MAGIC {
            return Err(SegmentError::Magic);
        }
        if crc != crc_fast::crc32_iscsi(body).to_le_bytes() {
            return Err(SegmentError::HeaderChecksum);
        }
        match u16::from_le_bytes([body[8], body[9]]) {
            VERSION => {}
            version => return Err(SegmentError::Version(version)),
        }
        let number = u32::from_le_bytes([body[12], body[13], body[14], body[15]]);
        let mut container = [0; 8];
        container.copy_from_slice(&body[16..24]);
        Ok(Self { container: ContainerId(u64::from_le_bytes(container)), number })
    }

    /// Decodes a header and checks that it equals this one.
    ///
    /// # Errors
    /// As [`decode`](Self::decode), and if container or number differ.
    pub fn expect(&self, bytes: &[u8]) -> Result<(), SegmentError> {
        let there = Self::decode(bytes)?;
        if there == *self {
            return Ok(());
        }
        Err(SegmentError::Foreign { container: there.container.0, number: there.number })
    }
}
