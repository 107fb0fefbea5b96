//! AbortMultiPartUpload.

use proto::ozone::{
    KeyArgs, MultipartKeyInfo, MultipartUploadAbortRequest, MultipartUploadAbortResponse,
    OmResponse, Type,
};

use crate::authorizer::Right;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::find::{bucket, upload};
use crate::state::key_row::{KeyRow, garbage, resolve_names};
use crate::state::row::Bucket;
use crate::state::usage;
use crate::tables::{self, Table};

pub(crate) struct AbortMultiPartUpload;

impl Command for AbortMultiPartUpload {
    const TYPE: Type = Type::AbortMultiPartUpload;
    const AUDIT: &'static str = "ABORT_MULTIPART_UPLOAD";
    const RIGHTS: Rights<MultipartUploadAbortRequest> =
        Rights::Required(|request, guard| guard.require_key(&request.key_args, Right::Write));
    request_part!(abort_multi_part_upload_request: MultipartUploadAbortRequest);

    fn audit(request: &MultipartUploadAbortRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

fn prepare(
    request: &mut MultipartUploadAbortRequest,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    resolve_names(&mut request.key_args, ctx)?;
    upload::named(&request.key_args)?;
    request.key_args.modification_time = Some(ctx.now_ms);
    Ok(())
}

impl Write for AbortMultiPartUpload {
    const PREPARE: Decision<MultipartUploadAbortRequest> = Decision::Fields(prepare);

    fn apply(
        request: MultipartUploadAbortRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let args = request.key_args;
        let mut bucket = bucket::find(cx.view, &args.volume_name, &args.bucket_name)?;
        let (row, upload) = upload::find(cx.view, upload::id(&args)?, &args)?;
        remove(cx, &mut bucket, row, &upload, &args)?;
        cx.put_bucket(tables::bucket_key(&args.volume_name, &args.bucket_name), bucket);
        let mut r = response::ok(Type::AbortMultiPartUpload);
        r.abort_multi_part_upload_response = Some(Box::new(MultipartUploadAbortResponse {}));
        Ok(r)
    }
}

/// Takes an upload and its parts away; their blocks are garbage.
pub(super) fn remove(
    cx: &mut ApplyContext<'_>,
    bucket: &mut Bucket,
    row: Vec<u8>,
    upload: &MultipartKeyInfo,
    names: &KeyArgs,
) -> Result<(), OmError> {
    let bucket_id = bucket.object_id.unwrap_or_default();
    for (part_row, part) in upload::parts(cx.view, &upload.upload_id)? {
        let part = upload::as_key(upload, part, names);
        bucket.used_bytes = bucket.used_bytes.saturating_sub(usage::replicated_size(&part));
        if garbage::has_blocks(&part) {
            let object_id = part.object_id.unwrap_or_else(|| cx.object_id());
            let deleted = tables::deleted_key(&row, object_id);
            garbage::discard(cx, deleted, bucket_id, vec![part])?;
        }
        cx.delete(Table::MultipartPartsTable, part_row);
    }
    cx.delete(Table::MultipartInfoTable, row);
    let key_row = KeyRow::of_upload(cx.view, names, upload)?;
    key_row.delete_open(cx, tables::multipart_key(&key_row.key, &upload.upload_id));
    Ok(())
}
