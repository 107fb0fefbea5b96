//! DeleteKeys: many keys of one bucket in one transaction; those that cannot be deleted are
//! named in the answer.

use std::collections::HashSet;

use proto::ozone::{
    DeleteKeyArgs, DeleteKeyError, DeleteKeysRequest, DeleteKeysResponse, KeyInfo, OmResponse,
    Status, Type,
};

use super::delete;
use super::place::Place;
use crate::apply::ApplyContext;
use crate::bucket::find;
use crate::error::OmError;
use crate::prepare::PrepareContext;
use crate::response;
use crate::row;
use crate::tables;

pub(crate) fn prepare(
    request: &mut DeleteKeysRequest,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    let args = request.delete_keys.as_mut().ok_or_else(|| OmError::missing("DeleteKeyArgs"))?;
    let bucket = find::resolve(ctx.view, &mut args.volume_name, &mut args.bucket_name)?;
    find::require_flat(&bucket)
}

pub(crate) fn apply(
    request: DeleteKeysRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    let args = request.delete_keys.ok_or_else(|| OmError::missing("DeleteKeyArgs"))?;
    let (volume, bucket_name) = (args.volume_name, args.bucket_name);
    let mut bucket = find::find(cx.view, &volume, &bucket_name)?;
    find::require_flat(&bucket)?;
    let mut errors: Vec<DeleteKeyError> = args.refused.iter().map(|name| refused(name)).collect();
    let mut undeleted = args.refused;
    let mut done = HashSet::with_capacity(args.keys.len());
    for name in args.keys {
        let row = tables::object_key(&volume, &bucket_name, &name);
        // The view does not show what this transaction did to a key that is named twice.
        let key = match done.contains(&name) {
            false => row::get::<KeyInfo>(cx.view, Place::COMMITTED, &row)?,
            true => None,
        };
        match key {
            Some(key) => {
                delete::remove(cx, &mut bucket, row, key)?;
                done.insert(name);
            }
            None => {
                errors.push(DeleteKeyError {
                    key: Some(name.clone()),
                    error_code: Some(Status::KeyNotFound.as_str_name().to_owned()),
                    error_msg: Some("Key does not exist".to_owned()),
                });
                undeleted.push(name);
            }
        }
    }
    if !done.is_empty() {
        cx.put_bucket(tables::bucket_key(&volume, &bucket_name), bucket);
    }
    let complete = undeleted.is_empty();
    let mut r = if complete {
        response::ok(Type::DeleteKeys)
    } else {
        let message = format!("{} keys could not be deleted", undeleted.len());
        response::partial(Type::DeleteKeys, Status::PartialDelete, message)
    };
    r.delete_keys_response = Some(Box::new(DeleteKeysResponse {
        un_deleted_keys: Some(DeleteKeyArgs {
            volume_name: volume,
            bucket_name,
            keys: undeleted,
            refused: Vec::new(),
        }),
        status: Some(complete),
        errors,
    }));
    Ok(r)
}

fn refused(name: &str) -> DeleteKeyError {
    DeleteKeyError {
        key: Some(name.to_owned()),
        error_code: Some(Status::AccessDenied.as_str_name().to_owned()),
        error_msg: Some("ACL check failed".to_owned()),
    }
}
