//! RevokeS3Secret.

use proto::ozone::{OmResponse, RevokeS3SecretRequest, Type};

use super::get;
use crate::apply::ApplyContext;
use crate::error::OmError;
use crate::response;
use crate::tables::Table;

pub(crate) fn apply(
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
