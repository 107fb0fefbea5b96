//! AbortMultiPartUpload.

use proto::ozone::{
    KeyArgs, MultipartKeyInfo, MultipartUploadAbortRequest, MultipartUploadAbortResponse,
    OmResponse, Type,
};

use super::find;
use crate::apply::ApplyContext;
use crate::bucket;
use crate::error::OmError;
use crate::key::garbage;
use crate::key::place::{Place, settle};
use crate::prepare::PrepareContext;
use crate::response;
use crate::row::Bucket;
use crate::tables::{self, Table};
use crate::usage;

pub(crate) fn prepare(
    request: &mut MultipartUploadAbortRequest,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    settle(&mut request.key_args, ctx)?;
    find::id(&request.key_args)?;
    request.key_args.modification_time = Some(ctx.now_ms);
    Ok(())
}

pub(crate) fn apply(
    request: MultipartUploadAbortRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    let args = request.key_args;
    let mut bucket = bucket::find::find(cx.view, &args.volume_name, &args.bucket_name)?;
    let (row, upload) = find::find(cx.view, find::id(&args)?, &args)?;
    remove(cx, &mut bucket, row, &upload, &args)?;
    cx.put_bucket(tables::bucket_key(&args.volume_name, &args.bucket_name), bucket);
    let mut r = response::ok(Type::AbortMultiPartUpload);
    r.abort_multi_part_upload_response = Some(Box::new(MultipartUploadAbortResponse {}));
    Ok(r)
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
    for (part_row, part) in find::parts(cx.view, &upload.upload_id)? {
        let part = find::as_key(upload, part, names);
        bucket.used_bytes = bucket.used_bytes.saturating_sub(usage::replicated_size(&part));
        if garbage::has_blocks(&part) {
            let object_id = part.object_id.unwrap_or_else(|| cx.object_id());
            let deleted = tables::deleted_key(&row, object_id);
            garbage::discard(cx, deleted, bucket_id, vec![part]);
        }
        cx.delete(Table::MultipartPartsTable, part_row);
    }
    cx.delete(Table::MultipartInfoTable, row);
    let place = Place::of_upload(cx.view, names, upload)?;
    place.delete_open(cx, tables::multipart_key(&place.key, &upload.upload_id));
    Ok(())
}
