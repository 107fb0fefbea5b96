//! DeleteKey.

use proto::ozone::{DeleteKeyRequest, DeleteKeyResponse, OmResponse, Type};

use crate::authorizer::Right;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::fso;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::find::bucket;
use crate::state::key_row::atomic;
use crate::state::key_row::remove::{CommittedRow, remove};
use crate::state::key_row::{KeyRow, KeyTables, resolve_names};

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
        let bucket = bucket::find(cx.view, &args.volume_name, &args.bucket_name)?;
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
