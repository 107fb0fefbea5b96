//! SetS3Secret: another secret for an access id that has one.

use proto::ozone::{OmResponse, S3Secret, SetS3SecretRequest, SetS3SecretResponse, Type};

use super::{get, owner};
use crate::authorizer::Guard;
use crate::command::audit::AuditParams;
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::tables::Table;

/// Shortest secret that is accepted.
const MIN_SECRET_LENGTH: usize = 8;

pub(crate) struct SetS3Secret;

impl Command for SetS3Secret {
    const TYPE: Type = Type::SetS3Secret;
    const AUDIT: &'static str = "SET_S3_SECRET";
    const RIGHTS: Rights<SetS3SecretRequest> = Rights::Required(rights);
    request_part!(set_s3_secret_request: SetS3SecretRequest);

    fn audit(request: &SetS3SecretRequest) -> AuditParams {
        vec![("accessId", request.access_id.clone().unwrap_or_default())]
    }
}

fn rights(request: &SetS3SecretRequest, guard: &Guard<'_>) -> Result<(), OmError> {
    let access_id = request.access_id.as_deref().ok_or_else(|| OmError::missing("accessId"))?;
    owner::require(access_id, guard)
}

fn prepare(request: &mut SetS3SecretRequest, _: &PrepareContext<'_>) -> Result<(), OmError> {
    if request.access_id.as_deref().is_none_or(str::is_empty) {
        return Err(OmError::InvalidRequest("the access id is empty".to_owned()));
    }
    if request.secret_key.as_deref().is_none_or(|secret| secret.len() < MIN_SECRET_LENGTH) {
        return Err(OmError::InvalidRequest(format!(
            "Secret key length should be at least {MIN_SECRET_LENGTH} characters"
        )));
    }
    Ok(())
}

impl Write for SetS3Secret {
    const PREPARE: Decision<SetS3SecretRequest> = Decision::Fields(prepare);

    fn apply(
        request: SetS3SecretRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let access_id = request.access_id.ok_or_else(|| OmError::missing("accessId"))?;
        let secret_key = request.secret_key.ok_or_else(|| OmError::missing("secretKey"))?;
        if get::find(cx.view, &access_id)?.is_none() {
            return Err(OmError::AccessIdNotFound(access_id));
        }
        let secret = S3Secret { kerberos_id: access_id.clone(), aws_secret: secret_key.clone() };
        cx.put(Table::S3SecretTable, access_id.as_bytes().to_vec(), &secret);
        let mut r = response::ok(Type::SetS3Secret);
        r.set_s3_secret_response = Some(Box::new(SetS3SecretResponse {
            access_id: Some(access_id),
            secret_key: Some(secret_key),
        }));
        Ok(r)
    }
}
