//! DeleteObjectTagging.

use proto::ozone::{
    DeleteObjectTaggingRequest, DeleteObjectTaggingResponse, KeyArgs, OmResponse, Type,
};

use super::replace;
use crate::authorizer::Right;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::ApplyContext;

pub(crate) struct DeleteObjectTagging;

impl Command for DeleteObjectTagging {
    const TYPE: Type = Type::DeleteObjectTagging;
    const AUDIT: &'static str = "DELETE_OBJECT_TAGGING";
    const RIGHTS: Rights<DeleteObjectTaggingRequest> =
        Rights::Required(|request, guard| guard.require_key(&request.key_args, Right::Write));
    request_part!(delete_object_tagging_request: DeleteObjectTaggingRequest);

    fn audit(request: &DeleteObjectTaggingRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

impl Write for DeleteObjectTagging {
    const PREPARE: Decision<DeleteObjectTaggingRequest> =
        Decision::Fields(|request, ctx| replace::prepare(&mut request.key_args, ctx));

    fn apply(
        request: DeleteObjectTaggingRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        replace::replace(KeyArgs { tags: Vec::new(), ..request.key_args }, cx)?;
        let mut r = response::ok(Type::DeleteObjectTagging);
        r.delete_object_tagging_response = Some(Box::new(DeleteObjectTaggingResponse {}));
        Ok(r)
    }
}
