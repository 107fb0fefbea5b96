//! GetKeyInfo.

use proto::ozone::{GetKeyInfoRequest, GetKeyInfoResponse, OmRequest, OmResponse, Type};

use super::lookup;
use crate::error::OmError;
use crate::read::ReadContext;
use crate::response;
use crate::volume::{find, s3_context};

pub(crate) fn read(
    request: &GetKeyInfoRequest,
    envelope: &OmRequest,
    cx: &ReadContext<'_>,
) -> Result<OmResponse, OmError> {
    let args = &request.key_args;
    let mut info = GetKeyInfoResponse::default();
    // A client of S3 knows buckets only; it learns the volume on the way.
    let volume = if request.assume_s3_context == Some(true) {
        info.volume_info = Some(find::find(cx.view, &cx.settings.s3_volume)?);
        info.user_principal = Some(s3_context::principal(envelope, cx).to_owned());
        &cx.settings.s3_volume
    } else {
        &args.volume_name
    };
    info.key_info = Some(lookup::key(args, volume, cx)?);
    let mut r = response::ok(Type::GetKeyInfo);
    r.get_key_info_response = Some(Box::new(info));
    Ok(r)
}
