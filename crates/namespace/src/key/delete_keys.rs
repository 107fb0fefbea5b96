//! DeleteKeys: many keys of one bucket in one transaction; those that cannot be deleted are
//! named in the answer.

use std::collections::HashSet;

use proto::ozone::{
    DeleteKeyArgs, DeleteKeyError, DeleteKeysRequest, DeleteKeysResponse, KeyInfo, OmResponse,
    Status, Type,
};

use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::fso;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::find::bucket;
use crate::state::key_row::KeyTables;
use crate::state::key_row::remove::{CommittedRow, remove};
use crate::state::row::Bucket;
use crate::state::tree::Tree;
use crate::state::tree::find::find;
use crate::state::view;
use crate::tables;

pub(crate) struct DeleteKeys;

impl Command for DeleteKeys {
    const TYPE: Type = Type::DeleteKeys;
    const AUDIT: &'static str = "DELETE_KEYS";
    // Each key is authorized by itself (`check_access.rs`).
    const RIGHTS: Rights<DeleteKeysRequest> = Rights::Anybody;
    request_part!(delete_keys_request: DeleteKeysRequest);

    fn audit(request: &DeleteKeysRequest) -> AuditParams {
        let Some(keys) = &request.delete_keys else { return Vec::new() };
        let mut params = audit::bucket(&keys.volume_name, &keys.bucket_name);
        params.push(("deletedKeysList", keys.keys.join(",")));
        params
    }
}

fn prepare(request: &mut DeleteKeysRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    let args = request.delete_keys.as_mut().ok_or_else(|| OmError::missing("DeleteKeyArgs"))?;
    bucket::resolve(ctx.view, &mut args.volume_name, &mut args.bucket_name)?;
    Ok(())
}

impl Write for DeleteKeys {
    const PREPARE: Decision<DeleteKeysRequest> = Decision::Fields(prepare);

    fn apply(request: DeleteKeysRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
        let args = request.delete_keys.ok_or_else(|| OmError::missing("DeleteKeyArgs"))?;
        let (volume, bucket_name) = (args.volume_name, args.bucket_name);
        let mut bucket = bucket::find(cx.view, &volume, &bucket_name)?;
        let tree = if bucket.is_tree() { Some(Tree::of(cx.view, &bucket)?) } else { None };
        let mut errors: Vec<DeleteKeyError> =
            args.refused.iter().map(|name| refused(name)).collect();
        let mut undeleted = args.refused;
        let mut done = HashSet::with_capacity(args.keys.len());
        for name in args.keys {
            let deleted = match &tree {
                Some(tree) => delete_path(cx, tree, &mut bucket, &name, &mut done)?,
                None => {
                    let row = tables::object_key(&volume, &bucket_name, &name);
                    delete_key(cx, &mut bucket, row, &mut done)?
                }
            };
            if !deleted {
                errors.push(DeleteKeyError {
                    key: Some(name.clone()),
                    error_code: Some(Status::KeyNotFound.as_str_name().to_owned()),
                    error_msg: Some("Key does not exist".to_owned()),
                });
                undeleted.push(name);
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
}

fn refused(name: &str) -> DeleteKeyError {
    DeleteKeyError {
        key: Some(name.to_owned()),
        error_code: Some(Status::AccessDenied.as_str_name().to_owned()),
        error_msg: Some("ACL check failed".to_owned()),
    }
}

/// Deletes the key at `row`, if there is one. The view does not show this transaction's changes of
/// a key that is named twice: `done` has the removed rows.
fn delete_key(
    cx: &mut ApplyContext<'_>,
    bucket: &mut Bucket,
    row: Vec<u8>,
    done: &mut HashSet<Vec<u8>>,
) -> Result<bool, OmError> {
    if done.contains(&row) {
        return Ok(false);
    }
    let found = view::get::<KeyInfo>(cx.view, KeyTables::Flat.committed(), &row)?;
    let Some(key) = found else { return Ok(false) };
    done.insert(row.clone());
    let row = CommittedRow { key_tables: KeyTables::Flat, key: row, object_key: None };
    remove(cx, bucket, row, key)?;
    Ok(true)
}

/// The same for a path, be it a directory with all that is in it.
fn delete_path(
    cx: &mut ApplyContext<'_>,
    tree: &Tree<'_>,
    bucket: &mut Bucket,
    path: &str,
    done: &mut HashSet<Vec<u8>>,
) -> Result<bool, OmError> {
    let Some(found) = find(tree, path)? else { return Ok(false) };
    if !done.insert(found.row.clone()) {
        return Ok(false);
    }
    fso::delete::remove_found(cx, bucket, found, path)?;
    Ok(true)
}
