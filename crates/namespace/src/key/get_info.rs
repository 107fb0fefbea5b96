//! GetKeyInfo.

use bytes::Bytes;
use proto::ozone::{GetKeyInfoRequest, GetKeyInfoResponse, OmRequest, OmResponse, Type};

use super::lookup::{self, Found};
use crate::authorizer::{Guard, Right};
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::state::context::ReadContext;
use crate::state::find::volume;
use crate::volume::s3_context;

/// Field of `GetKeyInfoResponse` in `OMResponse`, and of the key in it.
const RESPONSE: u32 = 111;
const KEY_INFO: u32 = 1;

pub(crate) struct GetKeyInfo;

impl Command for GetKeyInfo {
    const TYPE: Type = Type::GetKeyInfo;
    const AUDIT: &'static str = "GET_KEY_INFO";
    const RIGHTS: Rights<OmRequest> = Rights::Required(rights);
    // The S3 user is in a field next to the request's own part.
    request_part!(whole);

    fn audit(request: &OmRequest) -> AuditParams {
        asked(request).map(|get| audit::key(&get.key_args)).unwrap_or_default()
    }
}

fn rights(request: &OmRequest, guard: &Guard<'_>) -> Result<(), OmError> {
    let get = asked(request)?;
    let args = &get.key_args;
    let volume = match get.assume_s3_context {
        Some(true) => guard.s3_volume,
        _ => &args.volume_name,
    };
    guard.require_in_bucket(volume, &args.bucket_name, &args.key_name, Right::Read)
}

/// The client's request.
fn asked(request: &OmRequest) -> Result<&GetKeyInfoRequest, OmError> {
    let get = request.get_key_info_request.as_deref();
    get.ok_or_else(|| OmError::missing("GetKeyInfoRequest"))
}

impl Read for GetKeyInfo {
    fn read(request: &OmRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let get = asked(request)?;
        let (volume, mut info) = context(get, request, cx)?;
        info.key_info = Some(lookup::key(&get.key_args, volume, cx)?);
        Ok(answer(info))
    }
}

/// [`GetKeyInfo`], encoded.
///
/// # Errors
/// As [`Read::read`].
pub(crate) fn encode(request: &OmRequest, cx: &ReadContext<'_>) -> Result<Bytes, OmError> {
    let get = asked(request)?;
    let (volume, mut info) = context(get, request, cx)?;
    let key_row = lookup::find(&get.key_args, volume, cx)?;
    let found = Found::of(&key_row, &get.key_args, cx)?;
    let trace_id = request.trace_id.as_deref();
    Ok(match found {
        Found::Row(row) => row.answer(Type::GetKeyInfo, trace_id, RESPONSE, KEY_INFO, &info),
        Found::Key(key) => {
            info.key_info = Some(*key);
            response::encode(answer(info), trace_id)
        }
    })
}

/// The requested volume, and the answer without the key.
fn context<'a>(
    get: &'a GetKeyInfoRequest,
    request: &OmRequest,
    cx: &ReadContext<'a>,
) -> Result<(&'a str, GetKeyInfoResponse), OmError> {
    let mut info = GetKeyInfoResponse::default();
    if get.assume_s3_context != Some(true) {
        return Ok((&get.key_args.volume_name, info));
    }
    // A client of S3 has bucket names only; the answer contains the volume.
    info.volume_info = Some(volume::find(cx.view, &cx.settings.s3_volume)?);
    info.user_principal = Some(s3_context::principal(request, cx).to_owned());
    Ok((&cx.settings.s3_volume, info))
}

fn answer(info: GetKeyInfoResponse) -> OmResponse {
    let mut r = response::ok(Type::GetKeyInfo);
    r.get_key_info_response = Some(Box::new(info));
    r
}
