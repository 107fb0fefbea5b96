//! GetS3VolumeContext: where the buckets of an S3 client live.

use proto::ozone::{GetS3VolumeContextResponse, OmRequest, OmResponse, Type};

use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::state::context::ReadContext;
use crate::state::find::volume;

pub(crate) struct GetS3VolumeContext;

impl Command for GetS3VolumeContext {
    const TYPE: Type = Type::GetS3VolumeContext;
    const AUDIT: &'static str = "GET_S3_VOLUME_CONTEXT";
    // Each key in the volume is judged by itself.
    const RIGHTS: Rights<OmRequest> = Rights::Anybody;
    // Its own part has no field, and may be missing; the user is named beside it.
    request_part!(whole);
}

impl Read for GetS3VolumeContext {
    fn read(request: &OmRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let info = volume::find(cx.view, &cx.settings.s3_volume)?;
        let mut r = response::ok(Type::GetS3VolumeContext);
        r.get_s3_volume_context_response = Some(Box::new(GetS3VolumeContextResponse {
            volume_info: Some(info),
            user_principal: Some(principal(request, cx).to_owned()),
        }));
        Ok(r)
    }
}

/// User of an S3 request: its access id, else the user of the connection.
pub(crate) fn principal<'a>(request: &'a OmRequest, cx: &'a ReadContext<'_>) -> &'a str {
    request.s3_authentication.as_deref().and_then(|a| a.access_id.as_deref()).unwrap_or(cx.user)
}
