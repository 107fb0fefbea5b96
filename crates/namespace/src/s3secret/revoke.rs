//! RevokeS3Secret.

use proto::ozone::{OmResponse, RevokeS3SecretRequest, Type};

use super::{get, owner};
use crate::command::audit::AuditParams;
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::tables::Table;

pub(crate) struct RevokeS3Secret;

impl Command for RevokeS3Secret {
    const TYPE: Type = Type::RevokeS3Secret;
    const AUDIT: &'static str = "REVOKE_S3_SECRET";
    const RIGHTS: Rights<RevokeS3SecretRequest> =
        Rights::Required(|request, guard| owner::require(&request.kerberos_id, guard));
    request_part!(revoke_s3_secret_request: RevokeS3SecretRequest);

    fn audit(request: &RevokeS3SecretRequest) -> AuditParams {
        vec![("S3RevokeSecretUser", request.kerberos_id.clone())]
    }
}

impl Write for RevokeS3Secret {
    const PREPARE: Decision<RevokeS3SecretRequest> = Decision::Nothing;

    fn apply(
        request: RevokeS3SecretRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let access_id = request.kerberos_id;
        if get::find(cx.view, &access_id)?.is_none() {
            return Err(OmError::S3SecretNotFound(access_id));
        }
        cx.delete(Table::S3SecretTable, access_id.into_bytes());
        Ok(response::ok(Type::RevokeS3Secret))
    }
}
