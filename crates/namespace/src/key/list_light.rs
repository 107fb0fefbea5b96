//! ListKeysLight: names, sizes and times of a page of keys.
//!
//! [`encode`] is the fast form. It writes the answer's bytes straight from the rows' bytes: no
//! message is built, no string allocated. The answer's head has the length of its body in front,
//! which is known last; room for the longest head is left before the body, and the head is
//! written backwards against it.

use bytes::Bytes;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use proto::ozone::{BasicKeyInfo, ListKeysLightResponse, ListKeysRequest, OmResponse, Type};

use super::basic::BasicKey;
use super::list::{ListKeys, Listed, walk};
use crate::audit::AuditParams;
use crate::command::{Command, Read, Rights, request_part};
use crate::context::ReadContext;
use crate::error::{OmError, ViewError};
use crate::response;
use crate::row::damaged;
use crate::tables::Table;
use crate::tree::directory::as_basic;

/// Field of `ListKeysLightResponse` in `OMResponse`, and of its members.
const LIGHT_RESPONSE_FIELD: u32 = 126;
const BASIC_KEY_INFO_FIELD: u32 = 1;
const IS_TRUNCATED_FIELD: u32 = 2;

/// Bytes of an ordinary entry, to start the buffer with.
const ENTRY_BYTES: usize = 128;

pub(crate) struct ListKeysLight;

impl Command for ListKeysLight {
    const TYPE: Type = Type::ListKeysLight;
    const AUDIT: &'static str = "LIST_KEYS";
    const RIGHTS: Rights<ListKeysRequest> = ListKeys::RIGHTS;
    request_part!(list_keys_request: ListKeysRequest);

    fn audit(request: &ListKeysRequest) -> AuditParams {
        ListKeys::audit(request)
    }
}

impl Read for ListKeysLight {
    fn read(request: &ListKeysRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let mut keys = Vec::new();
        let truncated = walk(request, cx, &mut |bucket, listed| {
            keys.push(match listed {
                Listed::Row { key, value } => {
                    let basic = BasicKey::parse(value).and_then(|basic| basic.to_message());
                    basic.map_err(|e| damaged(Table::KeyTable, key, &e))?
                }
                Listed::File { path, value } => basic(value, path)?,
                Listed::Directory { path, directory } => {
                    as_basic(directory, bucket, path.to_owned())
                }
            });
            Ok(())
        })?;
        let mut r = response::ok(Type::ListKeysLight);
        r.list_keys_light_response = Some(Box::new(ListKeysLightResponse {
            basic_key_info: keys,
            is_truncated: Some(truncated),
        }));
        Ok(r)
    }
}

/// A row of the fileTable under its whole path.
pub(crate) fn parse_file<'a>(row: &'a [u8], path: &'a str) -> Result<BasicKey<'a>, ViewError> {
    let mut key =
        BasicKey::parse(row).map_err(|e| damaged(Table::FileTable, path.as_bytes(), &e))?;
    key.rename(path);
    Ok(key)
}

/// The same as a message.
pub(crate) fn basic(row: &[u8], path: &str) -> Result<BasicKeyInfo, ViewError> {
    let key = parse_file(row, path)?.to_message();
    key.map_err(|e| damaged(Table::FileTable, path.as_bytes(), &e))
}

/// The encoded answer to a ListKeysLight.
pub(crate) fn encode(
    request: &ListKeysRequest,
    trace_id: Option<&str>,
    cx: &ReadContext<'_>,
) -> Result<Bytes, OmError> {
    let mut head = Vec::new();
    response::encode_ok(Type::ListKeysLight, trace_id, &mut head);
    encode_key(LIGHT_RESPONSE_FIELD, WireType::LengthDelimited, &mut head);

    // Ten bytes hold any length.
    let room = head.len().saturating_add(10);
    let page = cx.page(request.count.map(i64::from));
    let mut body = Vec::with_capacity(page.saturating_mul(ENTRY_BYTES).saturating_add(room));
    body.resize(room, 0);
    let truncated = walk(request, cx, &mut |bucket, listed| {
        encode_key(BASIC_KEY_INFO_FIELD, WireType::LengthDelimited, &mut body);
        let key = match listed {
            Listed::Row { key, value } => {
                BasicKey::parse(value).map_err(|e| damaged(Table::KeyTable, key, &e))?
            }
            Listed::File { path, value } => parse_file(value, path)?,
            Listed::Directory { path, directory } => {
                let entry = as_basic(directory, bucket, path.to_owned());
                encode_varint(entry.encoded_len() as u64, &mut body);
                entry.encode_raw(&mut body);
                return Ok(());
            }
        };
        encode_varint(key.encoded_len() as u64, &mut body);
        key.encode(&mut body);
        Ok(())
    })?;
    encode_key(IS_TRUNCATED_FIELD, WireType::Varint, &mut body);
    body.push(u8::from(truncated));

    encode_varint(body.len().saturating_sub(room) as u64, &mut head);
    let start = room.saturating_sub(head.len());
    body[start..room].copy_from_slice(&head);
    Ok(Bytes::from(body).slice(start..))
}
