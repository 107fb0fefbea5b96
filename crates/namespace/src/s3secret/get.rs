//! GetS3Secret: creates the secret of an access id, once, or returns the existing one.

use proto::ozone::{
    GetS3SecretRequest, GetS3SecretResponse, OmRequest, OmResponse, S3Secret, Type,
    UpdateGetS3SecretRequest,
};

use super::owner;
use crate::command::audit::AuditParams;
use crate::command::response;
use crate::command::{Command, Decision, Read, ReadOrWrite, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext, ReadContext};
use crate::state::view::{self, View};
use crate::tables::Table;

pub(crate) struct GetS3Secret;

impl Command for GetS3Secret {
    const TYPE: Type = Type::GetS3Secret;
    const AUDIT: &'static str = "GET_S3_SECRET";
    const RIGHTS: Rights<OmRequest> =
        Rights::Required(|request, guard| owner::require(&asked(request)?.kerberos_id, guard));
    // The secret that the leader makes up is a part of its own.
    request_part!(whole);

    fn audit(request: &OmRequest) -> AuditParams {
        let user = asked(request).map(|get| ("S3GetSecretUser", get.kerberos_id.clone()));
        user.into_iter().collect()
    }
}

impl ReadOrWrite for GetS3Secret {
    /// A read of an existing secret need not go through the log.
    fn is_read(request: &OmRequest) -> bool {
        asked(request).is_ok_and(|get| get.create_if_not_exist == Some(false))
    }
}

/// The client's request.
fn asked(request: &OmRequest) -> Result<&GetS3SecretRequest, OmError> {
    let get = request.get_s3_secret_request.as_deref();
    get.ok_or_else(|| OmError::missing("GetS3SecretRequest"))
}

/// The leader generates the secret; the tables decide if it is needed.
fn prepare(request: &mut OmRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    let get = asked(request)?;
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
    Ok(view::get(view, Table::S3SecretTable, access_id.as_bytes())?)
}

impl Write for GetS3Secret {
    const PREPARE: Decision<OmRequest> = Decision::Fields(prepare);

    fn apply(request: OmRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
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
}

impl Read for GetS3Secret {
    fn read(request: &OmRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let get = asked(request)?;
        match find(cx.view, &get.kerberos_id)? {
            Some(secret) => Ok(answer(secret)),
            None => Err(OmError::AccessIdNotFound(get.kerberos_id.clone())),
        }
    }
}

fn answer(secret: S3Secret) -> OmResponse {
    let mut r = response::ok(Type::GetS3Secret);
    r.get_s3_secret_response = Some(Box::new(GetS3SecretResponse { s3_secret: secret }));
    r
}

/// The prepared request that gives an access id a secret of the server's choice, if it has none:
/// the first key pair is created by it.
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
