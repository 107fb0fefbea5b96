//! The head of a frame.

use std::io;

/// The first bytes of a client, so that other protocols can share the port.
pub const PREFACE: [u8; 4] = *b"O3F1";

/// Minimum size of payloads that get an aligned buffer of their own.
pub const LARGE_PAYLOAD: usize = 64 << 10;

pub(crate) const HEAD: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Request,
    Response,
    OneWay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    /// Method of a request, status code of a response.
    pub(crate) method: u16,
    pub(crate) call: u64,
    pub(crate) header_len: u32,
    pub(crate) payload_len: u32,
    pub(crate) timeout_ms: u32,
    pub(crate) header_crc: u32,
}

pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

impl Head {
    pub(crate) fn encode(&self) -> [u8; HEAD] {
        let mut out = [0; HEAD];
        out[0] = match self.kind {
            Kind::Request => 1,
            Kind::Response => 2,
            Kind::OneWay => 3,
        };
        out[2..4].copy_from_slice(&self.method.to_le_bytes());
        out[4..12].copy_from_slice(&self.call.to_le_bytes());
        out[12..16].copy_from_slice(&self.header_len.to_le_bytes());
        out[16..20].copy_from_slice(&self.payload_len.to_le_bytes());
        out[20..24].copy_from_slice(&self.timeout_ms.to_le_bytes());
        out[24..28].copy_from_slice(&self.header_crc.to_le_bytes());
        let crc = crc32c(&out[..28]);
        out[28..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes a head, refusing damage and frames above `max_frame` bytes.
    pub(crate) fn decode(bytes: &[u8; HEAD], max_frame: usize) -> io::Result<Self> {
        let u32_at = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        if crc32c(&bytes[..28]) != u32_at(28) {
            return Err(invalid("frame head does not match its checksum".into()));
        }
        let kind = match bytes[0] {
            1 => Kind::Request,
            2 => Kind::Response,
            3 => Kind::OneWay,
            other => return Err(invalid(format!("unknown frame kind {other}"))),
        };
        let mut call = [0; 8];
        call.copy_from_slice(&bytes[4..12]);
        let head = Self {
            kind,
            method: u16::from_le_bytes([bytes[2], bytes[3]]),
            call: u64::from_le_bytes(call),
            header_len: u32_at(12),
            payload_len: u32_at(16),
            timeout_ms: u32_at(20),
            header_crc: u32_at(24),
        };
        let len = head.header_len as usize + head.payload_len as usize;
        if len > max_frame {
            return Err(invalid(format!("frame of {len} bytes is above the limit {max_frame}")));
        }
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_head_survives_and_any_flipped_bit_is_found(
            method: u16, call: u64, header_len in 0_u32..1000, payload_len in 0_u32..1000,
            timeout_ms: u32, header_crc: u32, bit in 0_usize..256,
        ) {
            let head =
                Head { kind: Kind::OneWay, method, call, header_len, payload_len, timeout_ms, header_crc };
            let mut bytes = head.encode();
            prop_assert_eq!(Head::decode(&bytes, 2000).unwrap(), head);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Head::decode(&bytes, 2000).is_err());
        }
    }

    #[test]
    fn a_frame_above_the_limit_is_refused() {
        let head = Head {
            kind: Kind::Request,
            method: 1,
            call: 1,
            header_len: u32::MAX,
            payload_len: u32::MAX,
            timeout_ms: 0,
            header_crc: 0,
        };
        assert!(Head::decode(&head.encode(), 1 << 20).is_err());
    }
}
