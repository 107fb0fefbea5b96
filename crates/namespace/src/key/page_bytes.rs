//! The answer to a list, written entry by entry: no message is built, no string allocated.
//!
//! Its head has the length of its body in front, which is known last; room for the longest head is
//! left before the body, and the head is written backwards against it.

use bytes::Bytes;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use proto::ozone::Type;

use crate::command::response;

/// Positions of the parts of an answer.
pub(super) struct PageFields {
    /// The list's response in `OMResponse`.
    pub response: u32,
    /// An entry in it.
    pub entry: u32,
    /// Field of the flag that more follow.
    pub is_truncated: u32,
}

/// An answer that is being written.
pub(super) struct PageBytes {
    fields: PageFields,
    head: Vec<u8>,
    body: Vec<u8>,
    /// Bytes in front of the body.
    room: usize,
}

impl PageBytes {
    /// An answer without entries; about as many bytes as `expected` are to come.
    pub fn new(fields: PageFields, command: Type, trace_id: Option<&str>, expected: usize) -> Self {
        let mut head = Vec::new();
        response::encode_ok(command, trace_id, &mut head);
        encode_key(fields.response, WireType::LengthDelimited, &mut head);
        // Ten bytes hold any length.
        let room = head.len().saturating_add(10);
        let mut body = Vec::with_capacity(expected.saturating_add(room));
        body.resize(room, 0);
        Self { fields, head, body, room }
    }

    /// Begins an entry of `len` bytes, which the caller writes.
    pub fn entry(&mut self, len: usize) -> &mut Vec<u8> {
        encode_key(self.fields.entry, WireType::LengthDelimited, &mut self.body);
        encode_varint(len as u64, &mut self.body);
        &mut self.body
    }

    /// An entry that is a message.
    pub fn message(&mut self, entry: &impl Message) {
        entry.encode_raw(self.entry(entry.encoded_len()));
    }

    /// The encoded `OMResponse`.
    pub fn end(self, is_truncated: bool) -> Bytes {
        let Self { fields, mut head, mut body, room } = self;
        encode_key(fields.is_truncated, WireType::Varint, &mut body);
        body.push(u8::from(is_truncated));
        encode_varint(body.len().saturating_sub(room) as u64, &mut head);
        let start = room.saturating_sub(head.len());
        body[start..room].copy_from_slice(&head);
        Bytes::from(body).slice(start..)
    }
}
