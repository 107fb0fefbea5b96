//! Record of a segment in a container's tables.

use super::{SEGMENT_HEADER_LEN, SegmentError};

const VERSION: u8 = 1;
const LEN: usize = 1 + 1 + 4 * 8;

/// Totals of one segment, stored with the blocks and changed in the same batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentInfo {
    /// End of the last allocated record.
    pub end: u64,
    /// End of the records known to be on disk; later ones are in the log as well.
    pub durable: u64,
    /// Bytes of live records, headers and padding included.
    pub live_bytes: u64,
    /// Live records.
    pub live_records: u64,
    /// No more records are appended.
    pub sealed: bool,
}

impl SegmentInfo {
    /// A segment without records.
    pub fn empty() -> Self {
        Self { end: SEGMENT_HEADER_LEN, durable: 0, live_bytes: 0, live_records: 0, sealed: false }
    }

    /// Encodes the value.
    pub fn encode(&self) -> [u8; LEN] {
        let mut out = [0; LEN];
        out[0] = VERSION;
        out[1] = u8::from(self.sealed);
        let numbers = [self.end, self.durable, self.live_bytes, self.live_records];
        for (slot, number) in out[2..].chunks_exact_mut(8).zip(numbers) {
            slot.copy_from_slice(&number.to_be_bytes());
        }
        out
    }

    /// Decodes the value.
    ///
    /// # Errors
    /// If it has another length or a newer version.
    pub fn decode(bytes: &[u8]) -> Result<Self, SegmentError> {
        let short = SegmentError::Short { got: bytes.len() as u64, expected: LEN as u64 };
        let bytes = <&[u8; LEN]>::try_from(bytes).map_err(|_| short)?;
        if bytes[0] != VERSION {
            return Err(SegmentError::Version(u16::from(bytes[0])));
        }
        let mut numbers = [0; 4];
        for (number, slot) in numbers.iter_mut().zip(bytes[2..].chunks_exact(8)) {
            *number = slot.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
        }
        let [end, durable, live_bytes, live_records] = numbers;
        Ok(Self { end, durable, live_bytes, live_records, sealed: bytes[1] != 0 })
    }
}
