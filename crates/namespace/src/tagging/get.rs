//! GetObjectTagging.

use proto::ozone::{GetObjectTaggingRequest, GetObjectTaggingResponse, OmResponse, Type};

use crate::authorizer::Right;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::key::lookup;
use crate::state::context::ReadContext;

pub(crate) struct GetObjectTagging;

impl Command for GetObjectTagging {
    const TYPE: Type = Type::GetObjectTagging;
    const AUDIT: &'static str = "GET_OBJECT_TAGGING";
    const RIGHTS: Rights<GetObjectTaggingRequest> =
        Rights::Required(|request, guard| guard.require_key(&request.key_args, Right::Read));
    request_part!(get_object_tagging_request: GetObjectTaggingRequest);

    fn audit(request: &GetObjectTaggingRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

impl Read for GetObjectTagging {
    fn read(
        request: &GetObjectTaggingRequest,
        cx: &ReadContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let args = &request.key_args;
        let key = lookup::key(args, &args.volume_name, cx)?;
        let mut r = response::ok(Type::GetObjectTagging);
        r.get_object_tagging_response = Some(Box::new(GetObjectTaggingResponse { tags: key.tags }));
        Ok(r)
    }
}
