//! The library's messages as bytes: protobuf, by rust-protobuf 2.

use bytes::{BufMut, Bytes, BytesMut};
use protobuf::Message as _;
use raft::eraftpb::{ConfChangeV2, Message};

/// Bytes are not a message of the Raft library.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct WireError(#[from] protobuf::ProtobufError);

/// Appends the length of a message and its bytes.
pub(crate) fn put_message(out: &mut BytesMut, message: &Message) {
    let size = message.compute_size() as usize;
    out.put_u32_le(size as u32);
    let start = out.len();
    out.resize(start + size, 0);
    let mut stream = protobuf::CodedOutputStream::bytes(&mut out[start..]);
    // The buffer has just the size that the message said it needs.
    let written = message.write_to_with_cached_sizes(&mut stream);
    debug_assert!(written.is_ok());
}

/// Encodes a message.
///
/// # Errors
/// When it is larger than protobuf allows.
pub(crate) fn encode_message(message: &Message) -> Result<Vec<u8>, WireError> {
    Ok(message.write_to_bytes()?)
}

/// Decodes a message. The payloads of its entries share `bytes`.
///
/// # Errors
/// When they are none.
pub(crate) fn decode_message(bytes: &Bytes) -> Result<Message, WireError> {
    Ok(Message::parse_from_carllerche_bytes(bytes)?)
}

/// Encodes what an entry that changes the members carries.
///
/// # Errors
/// When it is larger than protobuf allows.
pub(crate) fn encode_change(change: &ConfChangeV2) -> Result<Vec<u8>, WireError> {
    Ok(change.write_to_bytes()?)
}

/// Decodes what an entry that changes the members carries.
///
/// # Errors
/// When the bytes are no such change.
pub(crate) fn decode_change(bytes: &[u8]) -> Result<ConfChangeV2, WireError> {
    let mut change = ConfChangeV2::default();
    change.merge_from_bytes(bytes)?;
    Ok(change)
}
