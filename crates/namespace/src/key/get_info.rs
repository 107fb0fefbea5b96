//! GetKeyInfo.

use proto::ozone::{GetKeyInfoRequest, GetKeyInfoResponse, OmRequest, OmResponse, Type};

use super::lookup;
use crate::audit::{self, AuditParams};
use crate::authorizer::{Guard, Right};
use crate::command::{Command, Read, Rights, request_part};
use crate::context::ReadContext;
use crate::error::OmError;
use crate::find::volume;
use crate::response;
use crate::volume::s3_context;

pub(crate) struct GetKeyInfo;

impl Command for GetKeyInfo {
    const TYPE: Type = Type::GetKeyInfo;
    const AUDIT: &'static str = "GET_KEY_INFO";
    const RIGHTS: Rights<OmRequest> = Rights::Required(rights);
    // The S3 user is named beside the request's own part.
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

/// What the client asks.
fn asked(request: &OmRequest) -> Result<&GetKeyInfoRequest, OmError> {
    let get = request.get_key_info_request.as_deref();
    get.ok_or_else(|| OmError::missing("GetKeyInfoRequest"))
}

impl Read for GetKeyInfo {
    fn read(request: &OmRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let get = asked(request)?;
        let args = &get.key_args;
        let mut info = GetKeyInfoResponse::default();
        // A client of S3 knows buckets only; it learns the volume on the way.
        let volume = if get.assume_s3_context == Some(true) {
            info.volume_info = Some(volume::find(cx.view, &cx.settings.s3_volume)?);
            info.user_principal = Some(s3_context::principal(request, cx).to_owned());
            &cx.settings.s3_volume
        } else {
            &args.volume_name
        };
        info.key_info = Some(lookup::key(args, volume, cx)?);
        let mut r = response::ok(Type::GetKeyInfo);
        r.get_key_info_response = Some(Box::new(info));
        Ok(r)
    }
}
