//! CommitMultiPartUpload: a written part joins its upload, replacing one of the same number.

use proto::ozone::{
    KeyArgs, KeyInfo, MultipartCommitUploadPartRequest, MultipartCommitUploadPartResponse,
    MultipartPartInfo, OmResponse, Type,
};

use super::find;
use crate::apply::ApplyContext;
use crate::error::OmError;
use crate::key::commit::settle_blocks;
use crate::key::garbage;
use crate::key::metadata::{self, ETAG};
use crate::key::place::{Place, settle};
use crate::locations;
use crate::prepare::PrepareContext;
use crate::response;
use crate::row;
use crate::tables::{self, Table};
use crate::usage;

pub(crate) fn prepare(
    request: &mut MultipartCommitUploadPartRequest,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    let args = &mut request.key_args;
    settle(args, ctx)?;
    find::id(args)?;
    find::check_part_number(args)?;
    args.modification_time = Some(ctx.now_ms);
    args.key_locations.iter_mut().for_each(locations::strip);
    Ok(())
}

pub(crate) fn apply(
    request: MultipartCommitUploadPartRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    let mut args = request.key_args;
    let upload_id = find::id(&args)?.to_owned();
    let number = find::check_part_number(&args)?;
    let upload = match find::find(cx.view, &upload_id, &args) {
        Ok((_, upload)) => upload,
        Err(refusal @ OmError::NoSuchUpload { .. }) => {
            throw_away(cx, &args, request.client_id)?;
            return Ok(refusal.into_response(Type::CommitMultiPartUpload as i32, None));
        }
        Err(e) => return Err(e),
    };
    let mut place = Place::of_upload(cx.view, &args, &upload)?;
    let open_key = tables::open_key(&place.key, request.client_id);
    let open = place.open(cx.view, &open_key)?.ok_or_else(|| not_open(&open_key))?;

    let e_tag = metadata::get(&args.metadata, ETAG).map(str::to_owned);
    let names = KeyArgs {
        volume_name: args.volume_name.clone(),
        bucket_name: args.bucket_name.clone(),
        key_name: args.key_name.clone(),
        ..Default::default()
    };
    // Replication is the upload's; the blocks are the session's.
    args.metadata.clear();
    let (key, left_over) = settle_blocks(open, args, cx.tx.index)?;
    let part_key = tables::part_key(&upload_id, number);
    let old = row::get::<MultipartPartInfo>(cx.view, Table::MultipartPartsTable, &part_key)?;
    let old = old.map(|old| find::as_key(&upload, old, &names));
    let (new_size, old_size) =
        (usage::replicated_size(&key), old.as_ref().map_or(0, usage::replicated_size));
    usage::check_bytes(&place.bucket, new_size.saturating_sub(old_size))?;
    place.bucket.used_bytes = place.bucket.used_bytes.saturating_sub(old_size) + new_size;

    let mut garbage: Vec<KeyInfo> = old.into_iter().filter(garbage::has_blocks).collect();
    if !left_over.is_empty() {
        garbage.push(garbage::uncommitted(&key, left_over));
    }
    if !garbage.is_empty() {
        let row = tables::deleted_key(place.object_key(), cx.object_id());
        garbage::discard(cx, row, place.bucket_id(), garbage);
    }

    let part_name = format!("{}-{upload_id}-{number}", String::from_utf8_lossy(place.object_key()));
    let part = MultipartPartInfo {
        part_name: Some(part_name.clone()),
        part_number: Some(number),
        e_tag: e_tag.clone(),
        key_location_list: key.key_location_list.into_iter().next_back(),
        data_size: Some(key.data_size),
        modification_time: Some(key.modification_time),
        object_id: key.object_id,
        update_id: Some(cx.tx.index),
        file_encryption_info: key.file_encryption_info,
        file_checksum: key.file_checksum,
    };
    cx.put(Table::MultipartPartsTable, part_key, &part);
    place.delete_open(cx, open_key);
    cx.put_bucket(place.bucket_key().to_vec(), place.bucket);
    let mut r = response::ok(Type::CommitMultiPartUpload);
    r.commit_multi_part_upload_response =
        Some(Box::new(MultipartCommitUploadPartResponse { part_name: Some(part_name), e_tag }));
    Ok(r)
}

fn not_open(open_key: &[u8]) -> OmError {
    let entry = String::from_utf8_lossy(open_key);
    OmError::KeyNotFound(format!(
        "Failed to commit Multipart Upload key, as {entry} entry is not found in the openKey table"
    ))
}

/// The upload is gone, aborted or completed: so must be the part's blocks. In a tree the way to
/// the session's row may be gone, too; the cleanup of open keys finds it then.
fn throw_away(cx: &mut ApplyContext<'_>, args: &KeyArgs, client_id: u64) -> Result<(), OmError> {
    let place = match Place::of_args(cx.view, args) {
        Err(OmError::DirectoryNotFound(_)) => return Ok(()),
        place => place?,
    };
    let open_key = tables::open_key(&place.key, client_id);
    let open = place.open(cx.view, &open_key)?.ok_or_else(|| not_open(&open_key))?;
    if garbage::has_blocks(&open) {
        let row = tables::deleted_key(place.object_key(), cx.object_id());
        garbage::discard(cx, row, place.bucket_id(), vec![open]);
    }
    place.delete_open(cx, open_key);
    Ok(())
}
