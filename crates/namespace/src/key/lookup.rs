//! LookupKey, and code that it shares with GetKeyInfo.

use bytes::Bytes;
use proto::ozone::{KeyArgs, KeyInfo, LookupKeyRequest, LookupKeyResponse, OmResponse, Type};

use super::row_bytes::RowBytes;
use crate::authorizer::Right;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::state::context::ReadContext;
use crate::state::key_row::KeyRow;

/// Field of `LookupKeyResponse` in `OMResponse`, and of the key in it.
const RESPONSE: u32 = 32;
const KEY_INFO: u32 = 2;

pub(crate) struct LookupKey;

impl Command for LookupKey {
    const TYPE: Type = Type::LookupKey;
    const AUDIT: &'static str = "READ_KEY";
    const RIGHTS: Rights<LookupKeyRequest> =
        Rights::Required(|request, guard| guard.require_key(&request.key_args, Right::Read));
    request_part!(lookup_key_request: LookupKeyRequest);

    fn audit(request: &LookupKeyRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

impl Read for LookupKey {
    fn read(request: &LookupKeyRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        Ok(answer(key(&request.key_args, &request.key_args.volume_name, cx)?))
    }
}

/// [`LookupKey`], encoded.
///
/// # Errors
/// As [`Read::read`].
pub(crate) fn encode(
    request: &LookupKeyRequest,
    trace_id: Option<&str>,
    cx: &ReadContext<'_>,
) -> Result<Bytes, OmError> {
    let args = &request.key_args;
    let key_row = find(args, &args.volume_name, cx)?;
    let found = Found::of(&key_row, args, cx)?;
    Ok(match found {
        Found::Row(row) => row.answer(Type::LookupKey, trace_id, RESPONSE, KEY_INFO, &()),
        Found::Key(key) => response::encode(answer(*key), trace_id),
    })
}

fn answer(key: KeyInfo) -> OmResponse {
    let mut r = response::ok(Type::LookupKey);
    r.lookup_key_response =
        Some(Box::new(LookupKeyResponse { key_info: Some(key), id: None, open_version: None }));
    r
}

/// A key as an answer has it.
pub(crate) enum Found<'a> {
    /// As its row has it.
    Row(RowBytes<'a>),
    /// Otherwise.
    Key(Box<KeyInfo>),
}

impl<'a> Found<'a> {
    /// The key at `key_row`, with the versions and parts that `args` requests.
    ///
    /// # Errors
    /// When there is no such key, or its row cannot be read.
    pub(crate) fn of(
        key_row: &'a KeyRow,
        args: &KeyArgs,
        cx: &ReadContext<'_>,
    ) -> Result<Self, OmError> {
        let key = match key_row.committed_row(cx.view)? {
            Some(row) => match RowBytes::of(row, key_row.path(), args) {
                Ok(bytes) => return Ok(Self::Row(bytes)),
                Err(row) => Some(key_row.decode(row)?),
            },
            None => None,
        };
        narrowed(key, key_row, args, cx).map(|key| Self::Key(Box::new(key)))
    }
}

/// The key that `args` names in `volume`, with the requested versions and parts.
pub(crate) fn key(args: &KeyArgs, volume: &str, cx: &ReadContext<'_>) -> Result<KeyInfo, OmError> {
    let key_row = find(args, volume, cx)?;
    narrowed(key_row.committed(cx.view)?, &key_row, args, cx)
}

/// Row of the key that `args` names in `volume`.
///
/// # Errors
/// When it has no name, or there is no such bucket or directory.
pub(crate) fn find(args: &KeyArgs, volume: &str, cx: &ReadContext<'_>) -> Result<KeyRow, OmError> {
    if args.key_name.is_empty() {
        return Err(OmError::InvalidKeyName("Key name is empty".to_owned()));
    }
    match KeyRow::of(cx.view, volume, &args.bucket_name, &args.key_name) {
        Err(OmError::DirectoryNotFound(_)) => Err(not_found(args)),
        key_row => key_row,
    }
}

/// The requested part of the key that was found at `key_row`: without one the directory there.
fn narrowed(
    key: Option<KeyInfo>,
    key_row: &KeyRow,
    args: &KeyArgs,
    cx: &ReadContext<'_>,
) -> Result<KeyInfo, OmError> {
    let Some(mut key) = key else {
        return key_row.directory(cx.view)?.ok_or_else(|| not_found(args));
    };
    narrow(&mut key, args);
    Ok(key)
}

fn not_found(args: &KeyArgs) -> OmError {
    OmError::KeyNotFound(format!("Key:{} not found", args.key_name))
}

/// Removes versions and parts that `args` does not request from a key.
pub(crate) fn narrow(key: &mut KeyInfo, args: &KeyArgs) {
    if args.latest_version_location == Some(true) {
        key.key_location_list = key.key_location_list.pop().into_iter().collect();
    }
    if let Some(part) = args.multipart_number.filter(|part| *part > 0) {
        only_part(key, part);
    }
}

/// Leaves of a key that was uploaded in parts one part's blocks and size.
fn only_part(key: &mut KeyInfo, part: u32) {
    let Some(latest) = key.key_location_list.last_mut() else { return };
    latest
        .key_locations
        .retain(|l| l.part_number.and_then(|n| u32::try_from(n).ok()) == Some(part));
    key.data_size = latest.key_locations.iter().map(|l| l.length).fold(0, u64::saturating_add);
}
