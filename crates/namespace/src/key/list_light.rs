//! ListKeysLight: names, sizes and times of a page of keys.
//!
//! [`encode`] is the fast form. It writes the answer's bytes straight from the rows' bytes: no
//! message is built, no string allocated. The answer's head has the length of its body in front,
//! which is known last; room for the longest head is left before the body, and the head is
//! written backwards against it.

use bytes::Bytes;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use proto::ozone::{ListKeysLightResponse, ListKeysRequest, OmResponse, Type};

use super::basic::BasicKey;
use super::list::walk;
use super::place::Place;
use crate::error::OmError;
use crate::read::ReadContext;
use crate::response;
use crate::row::damaged;

/// Field of `ListKeysLightResponse` in `OMResponse`, and of its members.
const LIGHT_RESPONSE_FIELD: u32 = 126;
const BASIC_KEY_INFO_FIELD: u32 = 1;
const IS_TRUNCATED_FIELD: u32 = 2;

/// Bytes of an ordinary entry, to start the buffer with.
const ENTRY_BYTES: usize = 128;

pub(crate) fn read(request: &ListKeysRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
    let mut keys = Vec::new();
    let truncated = walk(request, cx, &mut |key, value| {
        let basic = BasicKey::parse(value).and_then(|basic| basic.to_message());
        keys.push(basic.map_err(|e| damaged(Place::COMMITTED, key, &e))?);
        Ok(())
    })?;
    let mut r = response::ok(Type::ListKeysLight);
    r.list_keys_light_response = Some(Box::new(ListKeysLightResponse {
        basic_key_info: keys,
        is_truncated: Some(truncated),
    }));
    Ok(r)
}

/// The encoded answer to a ListKeysLight.
pub(crate) fn encode(
    request: &ListKeysRequest,
    trace_id: Option<&str>,
    cx: &ReadContext<'_>,
) -> Result<Bytes, OmError> {
    let mut head = Vec::new();
    let mut envelope = response::ok(Type::ListKeysLight);
    envelope.trace_id = trace_id.map(str::to_owned);
    envelope.encode(&mut head).map_err(|e| OmError::InvalidRequest(e.to_string()))?;
    encode_key(LIGHT_RESPONSE_FIELD, WireType::LengthDelimited, &mut head);

    // Ten bytes hold any length.
    let room = head.len() + 10;
    let page = cx.page(request.count.map(i64::from));
    let mut body = Vec::with_capacity(room + page * ENTRY_BYTES);
    body.resize(room, 0);
    let truncated = walk(request, cx, &mut |key, value| {
        let basic = BasicKey::parse(value).map_err(|e| damaged(Place::COMMITTED, key, &e))?;
        encode_key(BASIC_KEY_INFO_FIELD, WireType::LengthDelimited, &mut body);
        encode_varint(basic.encoded_len() as u64, &mut body);
        basic.encode(&mut body);
        Ok(())
    })?;
    encode_key(IS_TRUNCATED_FIELD, WireType::Varint, &mut body);
    body.push(u8::from(truncated));

    encode_varint((body.len() - room) as u64, &mut head);
    let start = room - head.len();
    body[start..room].copy_from_slice(&head);
    Ok(Bytes::from(body).slice(start..))
}
