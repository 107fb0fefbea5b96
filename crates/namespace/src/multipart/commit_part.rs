//! CommitMultiPartUpload: a written part joins its upload, replacing one of the same number.

use proto::ozone::{
    KeyArgs, KeyInfo, MultipartCommitUploadPartRequest, MultipartCommitUploadPartResponse,
    MultipartPartInfo, OmResponse, Type,
};

use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::key::commit::reconcile_blocks;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::find::upload;
use crate::state::key_row::{KeyRow, garbage, resolve_names};
use crate::state::locations;
use crate::state::metadata::{self, CHECKSUM, ETAG};
use crate::state::usage;
use crate::state::view;
use crate::tables::{self, Table};

/// Bytes of the longest checksum with the name of its algorithm.
const LONGEST_CHECKSUM: usize = 128;

pub(crate) struct CommitMultiPartUpload;

impl Command for CommitMultiPartUpload {
    const TYPE: Type = Type::CommitMultiPartUpload;
    const AUDIT: &'static str = "COMMIT_MULTIPART_UPLOAD_PARTKEY";
    const RIGHTS: Rights<MultipartCommitUploadPartRequest> = Rights::Required(|request, guard| {
        guard.require_session(&request.key_args, request.client_id)
    });
    request_part!(commit_multi_part_upload_request: MultipartCommitUploadPartRequest);

    fn audit(request: &MultipartCommitUploadPartRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

fn prepare(
    request: &mut MultipartCommitUploadPartRequest,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    let args = &mut request.key_args;
    resolve_names(args, ctx)?;
    upload::named(args)?;
    upload::check_part_number(args)?;
    args.modification_time = Some(ctx.now_ms);
    args.key_locations.iter_mut().for_each(locations::strip);
    Ok(())
}

impl Write for CommitMultiPartUpload {
    const PREPARE: Decision<MultipartCommitUploadPartRequest> = Decision::Fields(prepare);

    fn apply(
        request: MultipartCommitUploadPartRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let mut args = request.key_args;
        let upload_id = upload::id(&args)?.to_owned();
        let number = upload::check_part_number(&args)?;
        let upload = match upload::find(cx.view, &upload_id, &args) {
            Ok((_, upload)) => upload,
            Err(refusal @ OmError::NoSuchUpload { .. }) => {
                throw_away(cx, &args, request.client_id)?;
                return Ok(refusal.into_response(Type::CommitMultiPartUpload as i32, None));
            }
            Err(e) => return Err(e),
        };
        let mut key_row = KeyRow::of_upload(cx.view, &args, &upload)?;
        let open_key = tables::open_key(&key_row.key, request.client_id);
        let open = key_row.open(cx.view, &open_key)?.ok_or_else(|| not_open(&open_key))?;

        let e_tag = metadata::get(&args.metadata, ETAG).map(str::to_owned);
        // Empty if there is none: rows of an earlier release have no checksum.
        let checksum = metadata::get(&args.metadata, CHECKSUM);
        let checksum = checksum.filter(|text| text.len() <= LONGEST_CHECKSUM).unwrap_or_default();
        let checksum = checksum.to_owned();
        let names = KeyArgs {
            volume_name: args.volume_name.clone(),
            bucket_name: args.bucket_name.clone(),
            key_name: args.key_name.clone(),
            ..Default::default()
        };
        // Replication is the upload's; the blocks are the session's.
        args.metadata.clear();
        let (key, left_over) = reconcile_blocks(open, args, cx.tx.index)?;
        let part_key = tables::part_key(&upload_id, number);
        let old = view::get::<MultipartPartInfo>(cx.view, Table::MultipartPartsTable, &part_key)?;
        let old = old.map(|old| upload::as_key(&upload, old, &names));
        let (new_size, old_size) =
            (usage::replicated_size(&key), old.as_ref().map_or(0, usage::replicated_size));
        usage::check_bytes(&key_row.bucket, new_size.saturating_sub(old_size))?;
        key_row.bucket.used_bytes = key_row.bucket.used_bytes.saturating_sub(old_size);
        usage::count(&mut key_row.bucket.used_bytes, new_size);

        let mut garbage: Vec<KeyInfo> = old.into_iter().filter(garbage::has_blocks).collect();
        if !left_over.is_empty() {
            garbage.push(garbage::uncommitted(&key, left_over));
        }
        if !garbage.is_empty() {
            let row = tables::deleted_key(key_row.object_key(), cx.object_id());
            garbage::discard(cx, row, key_row.bucket_id(), garbage)?;
        }

        let part_name =
            format!("{}-{upload_id}-{number}", String::from_utf8_lossy(key_row.object_key()));
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
            checksum: Some(checksum),
        };
        cx.put(Table::MultipartPartsTable, part_key, &part);
        key_row.delete_open(cx, open_key);
        cx.put_bucket(key_row.bucket_key().to_vec(), key_row.bucket);
        let mut r = response::ok(Type::CommitMultiPartUpload);
        r.commit_multi_part_upload_response =
            Some(Box::new(MultipartCommitUploadPartResponse { part_name: Some(part_name), e_tag }));
        Ok(r)
    }
}

fn not_open(open_key: &[u8]) -> OmError {
    let entry = String::from_utf8_lossy(open_key);
    OmError::KeyNotFound(format!(
        "Failed to commit Multipart Upload key, as {entry} entry is not found in the openKey table"
    ))
}

/// The upload was aborted or completed: the part's blocks must be deleted, too. In a tree the path
/// to the session's row may no longer exist, either; the cleanup of open keys finds the row then.
fn throw_away(cx: &mut ApplyContext<'_>, args: &KeyArgs, client_id: u64) -> Result<(), OmError> {
    let key_row = match KeyRow::of_args(cx.view, args) {
        Err(OmError::DirectoryNotFound(_)) => return Ok(()),
        key_row => key_row?,
    };
    let open_key = tables::open_key(&key_row.key, client_id);
    let open = key_row.open(cx.view, &open_key)?.ok_or_else(|| not_open(&open_key))?;
    if garbage::has_blocks(&open) {
        let row = tables::deleted_key(key_row.object_key(), cx.object_id());
        garbage::discard(cx, row, key_row.bucket_id(), vec![open])?;
    }
    key_row.delete_open(cx, open_key);
    Ok(())
}
