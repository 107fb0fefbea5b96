//! SetS3Secret: another secret for an access id that has one.

use proto::ozone::{OmResponse, S3Secret, SetS3SecretRequest, SetS3SecretResponse, Type};

use super::get;
use crate::apply::ApplyContext;
use crate::error::OmError;
use crate::response;
use crate::tables::Table;

/// Shortest secret that is accepted.
const MIN_SECRET_LENGTH: usize = 8;

pub(crate) fn prepare(request: &mut SetS3SecretRequest) -> Result<(), OmError> {
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

pub(crate) fn apply(
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
