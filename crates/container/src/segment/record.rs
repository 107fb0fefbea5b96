//! One packed block.

use types::{ContainerId, LocalId};

use super::SegmentError;

/// Length of [`RecordHeader`] in the file; the block's bytes follow.
pub const RECORD_HEADER_LEN: u64 = LEN as u64;
/// Alignment of records.
pub const RECORD_ALIGN: u64 = ALIGN as u64;

/// [`RECORD_HEADER_LEN`] as the length of a slice.
pub(super) const LEN: usize = 32;
const ALIGN: usize = 8;

const MAGIC: [u8; 4] = *b"O3RC";
const CRC_AT: usize = 28;

/// Identifies the block that follows, and its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader {
    /// The block.
    pub local: LocalId,
    /// Its commit.
    pub bcsid: u64,
    /// Its length.
    pub len: u32,
    /// CRC-32C of its bytes.
    pub crc: u32,
}

/// Size in the file of a record of `data_len` bytes, header and padding included.
pub fn record_len(data_len: u32) -> u64 {
    RECORD_HEADER_LEN.saturating_add(u64::from(data_len)).next_multiple_of(RECORD_ALIGN)
}

/// The zeros after a record of `data_len` bytes.
pub fn padding(data_len: u32) -> &'static [u8] {
    const ZEROS: &[u8] = &[0; ALIGN];
    let over = data_len as usize % ALIGN;
    ZEROS.get(over..).filter(|_| over > 0).unwrap_or_default()
}

impl RecordHeader {
    /// Creates the header for a block's bytes.
    pub fn new(local: LocalId, bcsid: u64, data: &[u8]) -> Self {
        let len = u32::try_from(data.len()).unwrap_or(u32::MAX);
        Self { local, bcsid, len, crc: crc_fast::crc32_iscsi(data) }
    }

    /// Encodes the header for this position only.
    pub fn encode(&self, container: ContainerId, offset: u64) -> [u8; LEN] {
        let mut out = [0; LEN];
        out[..4].copy_from_slice(&MAGIC);
        out[4..8].copy_from_slice(&self.len.to_le_bytes());
        out[8..16].copy_from_slice(&self.local.0.to_le_bytes());
        out[16..24].copy_from_slice(&self.bcsid.to_le_bytes());
        out[24..28].copy_from_slice(&self.crc.to_le_bytes());
        let crc = header_crc(&out[..CRC_AT], container, offset);
        out[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes the header of the record at `offset` of a segment of `container`.
    ///
    /// # Errors
    /// If the bytes are not a header written for that position.
    pub fn decode(bytes: &[u8], container: ContainerId, offset: u64) -> Result<Self, SegmentError> {
        let short = SegmentError::Short { got: bytes.len() as u64, expected: RECORD_HEADER_LEN };
        let bytes = bytes.first_chunk::<LEN>().ok_or(short)?;
        let (body, crc) = bytes.split_at(CRC_AT);
        if body[..4] != MAGIC {
            return Err(SegmentError::Magic);
        }
        if crc != header_crc(body, container, offset).to_le_bytes() {
            return Err(SegmentError::HeaderChecksum);
        }
        Ok(Self {
            local: LocalId(number(body, 8)),
            bcsid: number(body, 16),
            len: short_number(body, 4),
            crc: short_number(body, 24),
        })
    }

    /// Verifies the block's data.
    ///
    /// # Errors
    /// If it differs.
    pub fn check(&self, data: &[u8]) -> Result<(), SegmentError> {
        if data.len() as u64 != u64::from(self.len) {
            return Err(SegmentError::Short {
                got: data.len() as u64,
                expected: u64::from(self.len),
            });
        }
        if crc_fast::crc32_iscsi(data) != self.crc {
            return Err(SegmentError::DataChecksum { local: self.local.0 });
        }
        Ok(())
    }

    /// Decodes and verifies a whole record (header and data); returns the header, after which the
    /// `len` bytes of data follow.
    ///
    /// # Errors
    /// If the bytes are not the unchanged record of `local` written for that position.
    pub fn expect(
        bytes: &[u8],
        container: ContainerId,
        offset: u64,
        local: LocalId,
    ) -> Result<Self, SegmentError> {
        let header = Self::decode(bytes, container, offset)?;
        if header.local != local {
            return Err(SegmentError::WrongBlock { got: header.local.0, expected: local.0 });
        }
        let expected = RECORD_HEADER_LEN.saturating_add(u64::from(header.len));
        let data = bytes.get(LEN..);
        let data = data
            .and_then(|data| data.get(..header.len as usize))
            .ok_or(SegmentError::Short { got: bytes.len() as u64, expected })?;
        header.check(data)?;
        Ok(header)
    }
}

fn header_crc(body: &[u8], container: ContainerId, offset: u64) -> u32 {
    let mut all = [0; CRC_AT + 16];
    all[..CRC_AT].copy_from_slice(body);
    all[CRC_AT..CRC_AT + 8].copy_from_slice(&container.0.to_le_bytes());
    all[CRC_AT + 8..].copy_from_slice(&offset.to_le_bytes());
    crc_fast::crc32_iscsi(&all)
}

/// The eight bytes at `at` of a header body, which is long enough for every call.
fn number(body: &[u8], at: usize) -> u64 {
    let bytes = body.get(at..).and_then(|rest| rest.first_chunk::<8>());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The four bytes at `at`.
fn short_number(body: &[u8], at: usize) -> u32 {
    let bytes = body.get(at..).and_then(|rest| rest.first_chunk::<4>());
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
