//! GetS3Secret: makes the secret of an access id, once, or shows one that is there.

use proto::ozone::{
    GetS3SecretRequest, GetS3SecretResponse, OmRequest, OmResponse, S3Secret, Type,
    UpdateGetS3SecretRequest,
};

use crate::apply::ApplyContext;
use crate::error::OmError;
use crate::prepare::{PrepareContext, part};
use crate::read::ReadContext;
use crate::response;
use crate::row;
use crate::tables::Table;
use crate::view::View;

/// The leader makes up the secret; the tables tell whether it is needed.
pub(crate) fn prepare(request: &mut OmRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    let get = part(&mut request.get_s3_secret_request, "GetS3SecretRequest")?;
    if get.kerberos_id.is_empty() {
        return Err(OmError::InvalidRequest("the access id is empty".to_owned()));
    }
    let update = UpdateGetS3SecretRequest {
        kerberos_id: get.kerberos_id.clone(),
        aws_secret: hex::encode(ctx.fresh.secret()),
    };
    request.update_get_s3_secret_request = Some(Box::new(update));
    Ok(())
}

pub(super) fn find(view: &dyn View, access_id: &str) -> Result<Option<S3Secret>, OmError> {
    Ok(row::get(view, Table::S3SecretTable, access_id.as_bytes())?)
}

pub(crate) fn apply(request: OmRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
    let update = request
        .update_get_s3_secret_request
        .ok_or_else(|| OmError::missing("UpdateGetS3SecretRequest"))?;
    let access_id = update.kerberos_id;
    if find(cx.view, &access_id)?.is_some() {
        return Err(OmError::S3SecretExists(access_id));
    }
    let key = access_id.as_bytes().to_vec();
    let secret = S3Secret { kerberos_id: access_id, aws_secret: update.aws_secret };
    cx.put(Table::S3SecretTable, key, &secret);
    Ok(answer(secret))
}

pub(crate) fn read(
    request: &GetS3SecretRequest,
    cx: &ReadContext<'_>,
) -> Result<OmResponse, OmError> {
    match find(cx.view, &request.kerberos_id)? {
        Some(secret) => Ok(answer(secret)),
        None => Err(OmError::AccessIdNotFound(request.kerberos_id.clone())),
    }
}

fn answer(secret: S3Secret) -> OmResponse {
    let mut r = response::ok(Type::GetS3Secret);
    r.get_s3_secret_response = Some(Box::new(GetS3SecretResponse { s3_secret: secret }));
    r
}

/// The prepared request that gives an access id a secret of the server's choice, if it has none:
/// how the first key pair gets in.
pub fn create_s3_secret_request(access_id: &str, secret: &str) -> OmRequest {
    OmRequest {
        cmd_type: Type::GetS3Secret as i32,
        client_id: "om".to_owned(),
        get_s3_secret_request: Some(Box::new(GetS3SecretRequest {
            kerberos_id: access_id.to_owned(),
            create_if_not_exist: Some(true),
        })),
        update_get_s3_secret_request: Some(Box::new(UpdateGetS3SecretRequest {
            kerberos_id: access_id.to_owned(),
            aws_secret: secret.to_owned(),
        })),
        ..OmRequest::default()
    }
}
