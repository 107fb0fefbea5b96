//! ListKeysLight: names, sizes and times of a page of keys.
//!
//! [`encode`] is the fast form. It writes the answer's bytes straight from the rows' bytes.

use bytes::Bytes;
use proto::ozone::{BasicKeyInfo, ListKeysLightResponse, ListKeysRequest, OmResponse, Type};

use super::basic::BasicKey;
use super::list::{ListKeys, Listed, walk};
use super::page_bytes::{PageBytes, PageFields};
use crate::command::audit::AuditParams;
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::{OmError, ViewError};
use crate::state::context::ReadContext;
use crate::state::row::damaged;
use crate::state::tree::directory::as_basic;
use crate::tables::Table;

const FIELDS: PageFields = PageFields { response: 126, entry: 1, is_truncated: 2 };

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
    let page = cx.page(request.count.map(i64::from));
    let expected = page.saturating_mul(ENTRY_BYTES);
    let mut out = PageBytes::new(FIELDS, Type::ListKeysLight, trace_id, expected);
    let truncated = walk(request, cx, &mut |bucket, listed| {
        let key = match listed {
            Listed::Row { key, value } => {
                BasicKey::parse(value).map_err(|e| damaged(Table::KeyTable, key, &e))?
            }
            Listed::File { path, value } => parse_file(value, path)?,
            Listed::Directory { path, directory } => {
                out.message(&as_basic(directory, bucket, path.to_owned()));
                return Ok(());
            }
        };
        key.encode(out.entry(key.encoded_len()));
        Ok(())
    })?;
    Ok(out.end(truncated))
}
