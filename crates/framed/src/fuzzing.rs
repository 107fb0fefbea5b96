//! Fuzz targets for frames and statuses.

use bytes::Bytes;

use crate::Status;
use crate::frame::{HEAD, Head, Kind, crc32c};

/// Maximum frame size.
const MAX_FRAME: usize = 1 << 20;

/// The parsers, by name and with sample inputs.
pub fn targets() -> Vec<(&'static str, fn(&[u8]), Vec<Vec<u8>>)> {
    vec![("framed-head", head, heads()), ("framed-refusal", refusal, refusals())]
}

/// Fixes the checksum, so that the fuzzer gets past it.
fn head(data: &[u8]) {
    let Some(content) = data.first_chunk::<{ HEAD - 4 }>() else { return };
    let mut bytes = [0; HEAD];
    bytes[..HEAD - 4].copy_from_slice(content);
    let checksum = crc32c(content);
    bytes[HEAD - 4..].copy_from_slice(&checksum.to_le_bytes());
    if let Ok(head) = Head::decode(&bytes, MAX_FRAME) {
        assert!(head.header_len as usize + head.payload_len as usize <= MAX_FRAME);
        assert_eq!(Head::decode(&head.encode(), MAX_FRAME).ok(), Some(head));
    }
}

fn refusal(data: &[u8]) {
    let Some((code, body)) = data.split_first_chunk::<2>() else { return };
    let status = Status::decode(u16::from_le_bytes(*code), &Bytes::copy_from_slice(body));
    let _ = status.hint();
}

fn heads() -> Vec<Vec<u8>> {
    let head = |kind| Head {
        kind,
        method: 3,
        call: 7,
        header_len: 100,
        payload_len: 4096,
        timeout_ms: 1000,
        header_crc: 1,
    };
    [Kind::Request, Kind::Response, Kind::OneWay].map(|kind| head(kind).encode().to_vec()).to_vec()
}

fn refusals() -> Vec<Vec<u8>> {
    let status = Status::not_leader("not me", "127.0.0.1:1");
    vec![[&1_u16.to_le_bytes()[..], &status.encode()].concat(), vec![9, 0]]
}

#[cfg(test)]
#[test]
fn any_bytes_are_a_frame_or_refused() {
    testkit::fuzz(targets());
}
