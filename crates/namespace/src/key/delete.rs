//! DeleteKey.

use proto::ozone::{DeleteKeyRequest, DeleteKeyResponse, KeyInfo, OmResponse, Type};

use super::key_row::{KeyRow, KeyTables, resolve_names};
use super::{atomic, garbage, hsync};
use crate::acl::Right;
use crate::apply::ApplyContext;
use crate::audit::{self, AuditParams};
use crate::bucket::find;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::fso;
use crate::prepare::PrepareContext;
use crate::response;
use crate::row::Bucket;
use crate::tables;
use crate::usage;

pub(crate) struct DeleteKey;

impl Command for DeleteKey {
    const TYPE: Type = Type::DeleteKey;
    const AUDIT: &'static str = "DELETE_KEY";
    const RIGHTS: Rights<DeleteKeyRequest> =
        Rights::Required(|request, guard| guard.require_key(&request.key_args, Right::Delete));
    request_part!(delete_key_request: DeleteKeyRequest);

    fn audit(request: &DeleteKeyRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

fn prepare(request: &mut DeleteKeyRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    resolve_names(&mut request.key_args, ctx)?;
    request.key_args.modification_time = Some(ctx.now_ms);
    Ok(())
}

impl Write for DeleteKey {
    const PREPARE: Decision<DeleteKeyRequest> = Decision::Fields(prepare);

    fn apply(request: DeleteKeyRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
        let args = request.key_args;
        let bucket = find::find(cx.view, &args.volume_name, &args.bucket_name)?;
        if bucket.is_tree() {
            fso::delete::delete(cx, bucket, &args)?;
        } else {
            let mut key_row = KeyRow::of_args(cx.view, &args)?;
            let existing = key_row.existing(cx.view, &args)?;
            atomic::check(&args, Some(&existing))?;
            let bucket_key = key_row.bucket_key().to_vec();
            let row =
                CommittedRow { key_tables: KeyTables::Flat, object_key: None, key: key_row.key };
            remove(cx, &mut key_row.bucket, row, existing)?;
            cx.put_bucket(bucket_key, key_row.bucket);
        }
        let mut r = response::ok(Type::DeleteKey);
        r.delete_key_response = Some(Box::new(DeleteKeyResponse::default()));
        Ok(r)
    }
}

/// The row of a committed key.
pub(crate) struct CommittedRow {
    pub key_tables: KeyTables,
    pub key: Vec<u8>,
    /// `/volume/bucket/key`, when the row is named otherwise.
    pub object_key: Option<Vec<u8>>,
}

/// Takes a committed key out of its table and its bucket's counters; its blocks are garbage.
pub(crate) fn remove(
    cx: &mut ApplyContext<'_>,
    bucket: &mut Bucket,
    row: CommittedRow,
    key: KeyInfo,
) -> Result<(), OmError> {
    hsync::disown(cx, row.key_tables, &row.key, &key, hsync::Fate::Deleted)?;
    let has_blocks = garbage::has_blocks(&key);
    usage::release_to_deleted(bucket, usage::replicated_size(&key), has_blocks);
    bucket.used_namespace = bucket.used_namespace.saturating_sub(1);
    if has_blocks {
        let named = row.object_key.as_ref().unwrap_or(&row.key);
        let deleted = tables::deleted_key(named, key.object_id.unwrap_or_else(|| cx.object_id()));
        let bucket_id = bucket.object_id.unwrap_or_default();
        let versions = vec![garbage::committed(key, cx.tx.index)];
        garbage::discard(cx, deleted, bucket_id, versions);
    }
    cx.delete(row.key_tables.committed(), row.key);
    Ok(())
}
