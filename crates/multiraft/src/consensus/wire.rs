//! Encoding of the library's messages: protobuf, by rust-protobuf 2.

use bytes::{BufMut, Bytes, BytesMut};
use protobuf::Message as _;
use raft::eraftpb::{ConfChangeV2, Message};

/// The bytes are not a message of the Raft library.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct WireError(#[from] protobuf::ProtobufError);

/// Appends a length-prefixed message.
pub(crate) fn put_message(out: &mut BytesMut, message: &Message) {
    let size = message.compute_size() as usize;
    out.put_u32_le(size as u32);
    let start = out.len();
    out.resize(start + size, 0);
    let mut stream = protobuf::CodedOutputStream::bytes(&mut out[start..]);
    // The buffer has exactly the size that the message computed.
    let written = message.write_to_with_cached_sizes(&mut stream);
    debug_assert!(written.is_ok());
}

/// Encodes a message.
///
/// # Errors
/// If it exceeds protobuf's maximum size.
pub(crate) fn encode_message(message: &Message) -> Result<Vec<u8>, WireError> {
    Ok(message.write_to_bytes()?)
}

/// Decodes a message. The payloads of its entries share `bytes`.
///
/// # Errors
/// If the bytes are malformed.
pub(crate) fn decode_message(bytes: &Bytes) -> Result<Message, WireError> {
    Ok(Message::parse_from_carllerche_bytes(bytes)?)
}

/// Encodes the payload of an entry that changes members.
///
/// # Errors
/// If it exceeds protobuf's maximum size.
pub(crate) fn encode_change(change: &ConfChangeV2) -> Result<Vec<u8>, WireError> {
    Ok(change.write_to_bytes()?)
}

/// Decodes the payload of an entry that changes members.
///
/// # Errors
/// If the bytes are malformed.
pub(crate) fn decode_change(bytes: &[u8]) -> Result<ConfChangeV2, WireError> {
    let mut change = ConfChangeV2::default();
    change.merge_from_bytes(bytes)?;
    Ok(change)
}
