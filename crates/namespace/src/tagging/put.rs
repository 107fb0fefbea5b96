//! PutObjectTagging.

use proto::ozone::{OmResponse, PutObjectTaggingRequest, PutObjectTaggingResponse, Type};

use super::replace;
use crate::authorizer::Right;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::ApplyContext;

pub(crate) struct PutObjectTagging;

impl Command for PutObjectTagging {
    const TYPE: Type = Type::PutObjectTagging;
    const AUDIT: &'static str = "PUT_OBJECT_TAGGING";
    const RIGHTS: Rights<PutObjectTaggingRequest> =
        Rights::Required(|request, guard| guard.require_key(&request.key_args, Right::Write));
    request_part!(put_object_tagging_request: PutObjectTaggingRequest);

    fn audit(request: &PutObjectTaggingRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

impl Write for PutObjectTagging {
    const PREPARE: Decision<PutObjectTaggingRequest> =
        Decision::Fields(|request, ctx| replace::prepare(&mut request.key_args, ctx));

    fn apply(
        request: PutObjectTaggingRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        replace::replace(request.key_args, cx)?;
        let mut r = response::ok(Type::PutObjectTagging);
        r.put_object_tagging_response = Some(Box::new(PutObjectTaggingResponse {}));
        Ok(r)
    }
}
