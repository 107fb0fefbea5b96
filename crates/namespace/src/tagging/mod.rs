//! Object tags: put, get, delete.

use proto::ozone::{
    DeleteObjectTaggingRequest, DeleteObjectTaggingResponse, GetObjectTaggingRequest,
    GetObjectTaggingResponse, KeyArgs, OmResponse, PutObjectTaggingRequest,
    PutObjectTaggingResponse, Type,
};

use crate::apply::ApplyContext;
use crate::error::OmError;
use crate::key::create::distinct;
use crate::key::lookup;
use crate::key::place::{Place, settle};
use crate::prepare::PrepareContext;
use crate::read::ReadContext;
use crate::response;

pub(crate) fn prepare(args: &mut KeyArgs, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    settle(args, ctx)?;
    args.modification_time = Some(ctx.now_ms);
    Ok(())
}

/// Replaces the tags of a key by those in `args`. The content is the same: so is the time of its
/// last modification.
fn replace(mut args: KeyArgs, cx: &mut ApplyContext<'_>) -> Result<(), OmError> {
    let place = Place::of_args(cx.view, &args)?;
    let mut key = place.existing(cx.view, &args)?;
    key.tags = distinct(std::mem::take(&mut args.tags));
    key.update_id = Some(cx.tx.index);
    place.put_committed(cx, key);
    Ok(())
}

pub(crate) fn put(
    request: PutObjectTaggingRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    replace(request.key_args, cx)?;
    let mut r = response::ok(Type::PutObjectTagging);
    r.put_object_tagging_response = Some(Box::new(PutObjectTaggingResponse {}));
    Ok(r)
}

pub(crate) fn delete(
    request: DeleteObjectTaggingRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    replace(KeyArgs { tags: Vec::new(), ..request.key_args }, cx)?;
    let mut r = response::ok(Type::DeleteObjectTagging);
    r.delete_object_tagging_response = Some(Box::new(DeleteObjectTaggingResponse {}));
    Ok(r)
}

pub(crate) fn get(
    request: &GetObjectTaggingRequest,
    cx: &ReadContext<'_>,
) -> Result<OmResponse, OmError> {
    let args = &request.key_args;
    let key = lookup::key(args, &args.volume_name, cx)?;
    let mut r = response::ok(Type::GetObjectTagging);
    r.get_object_tagging_response = Some(Box::new(GetObjectTaggingResponse { tags: key.tags }));
    Ok(r)
}
