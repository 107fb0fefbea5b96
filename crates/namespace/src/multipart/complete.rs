//! CompleteMultiPartUpload: the named parts, in order, become the key.

use md5::{Digest, Md5};
use proto::ozone::{
    KeyArgs, KeyInfo, KeyLocation, KeyLocationList, MultipartPartInfo,
    MultipartUploadCompleteRequest, MultipartUploadCompleteResponse, OmResponse, Part, Type,
};

use crate::authorizer::Right;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::key::create::check_path;
use crate::new_key::of_new;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::find::upload;
use crate::state::key_row::{KeyRow, atomic, garbage, hsync, resolve_names};
use crate::state::layers::retain::committed_at;
use crate::state::metadata::{self, ETAG};
use crate::state::usage;
use crate::tables::{self, Table};

pub(crate) struct CompleteMultiPartUpload;

impl Command for CompleteMultiPartUpload {
    const TYPE: Type = Type::CompleteMultiPartUpload;
    const AUDIT: &'static str = "COMPLETE_MULTIPART_UPLOAD";
    const RIGHTS: Rights<MultipartUploadCompleteRequest> =
        Rights::Required(|request, guard| guard.require_key(&request.key_args, Right::Write));
    request_part!(complete_multi_part_upload_request: MultipartUploadCompleteRequest);

    fn audit(request: &MultipartUploadCompleteRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

/// The least size of a part is a setting, so it is checked here. The entry may find other parts
/// than these, but not others under the same ETags.
fn prepare(
    request: &mut MultipartUploadCompleteRequest,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    let args = &mut request.key_args;
    let bucket = resolve_names(args, ctx)?;
    check_path(args, &bucket, ctx.settings)?;
    args.modification_time = Some(ctx.now_ms);
    check_order(&request.parts_list)?;
    let args = &request.key_args;
    let upload_id = upload::named(args)?;
    upload::find(ctx.view, upload_id, args)?;
    let parts = upload::parts(ctx.view, upload_id)?;
    let (chosen, _) = choose(parts, &request.parts_list)?;
    size_of(&chosen)?;
    request.e_tag_of_digests = Some(chosen.iter().all(|part| md5_of(part).is_some()));
    let least = ctx.settings.min_multipart_part_size;
    let all_but_last = chosen.len().saturating_sub(1);
    for part in chosen.iter().take(all_but_last) {
        let size = part.data_size.unwrap_or(0);
        if size < least {
            return Err(OmError::EntityTooSmall(format!(
                "part {} of upload {upload_id} has {size} bytes, the least size is {least}",
                part.part_number.unwrap_or(0)
            )));
        }
    }
    Ok(())
}

/// # Errors
/// When no part is named, or the numbers do not ascend.
fn check_order(parts: &[Part]) -> Result<(), OmError> {
    if parts.is_empty() {
        return Err(OmError::InvalidRequest(
            "Complete Multipart Upload Failed because of empty part list".to_owned(),
        ));
    }
    let pairs = parts.iter().zip(parts.iter().skip(1));
    match pairs.map(|(a, b)| (a.part_number, b.part_number)).find(|(a, b)| a >= b) {
        Some((first, second)) => {
            Err(OmError::InvalidPartOrder(format!("part {second} comes after part {first}")))
        }
        None => Ok(()),
    }
}

/// The parts that the client names, and those it does not.
fn choose(
    stored: Vec<(Vec<u8>, MultipartPartInfo)>,
    named: &[Part],
) -> Result<(Vec<MultipartPartInfo>, Vec<MultipartPartInfo>), OmError> {
    let mut chosen = Vec::with_capacity(named.len());
    let mut unused = Vec::new();
    let mut wanted = named.iter().peekable();
    // Both are in the order of part numbers.
    for (_, part) in stored {
        let number = part.part_number.unwrap_or(0);
        match wanted.next_if(|named| named.part_number <= number) {
            Some(named) if named.part_number == number && is_named(&part, named) => {
                chosen.push(part);
            }
            Some(named) => return Err(invalid(named, Some(&part))),
            None => unused.push(part),
        }
    }
    match wanted.next() {
        Some(named) => Err(invalid(named, None)),
        None => Ok((chosen, unused)),
    }
}

/// Bytes of the key that the parts make.
///
/// # Errors
/// When they are more than a key can have.
fn size_of(parts: &[MultipartPartInfo]) -> Result<u64, OmError> {
    let sizes = parts.iter().map(|part| part.data_size.unwrap_or(0));
    let sum = sizes.fold(0, u64::saturating_add);
    if sum > usage::LARGEST {
        return Err(OmError::InvalidRequest(format!(
            "the {} parts of the upload are larger than a key can be",
            parts.len()
        )));
    }
    Ok(sum)
}

/// Clients name a part by its ETag, older ones by its part name.
fn is_named(part: &MultipartPartInfo, named: &Part) -> bool {
    match named.e_tag.as_deref().filter(|tag| !tag.is_empty()) {
        Some(tag) if part.e_tag.is_some() => part.e_tag.as_deref() == Some(tag),
        _ => part.part_name.as_deref() == Some(named.part_name.as_str()),
    }
}

fn invalid(named: &Part, stored: Option<&MultipartPartInfo>) -> OmError {
    let asked = named.e_tag.as_deref().unwrap_or(&named.part_name);
    let found = stored.filter(|s| s.part_number == Some(named.part_number)).map_or_else(
        || "no such part".to_owned(),
        |s| s.e_tag.clone().or_else(|| s.part_name.clone()).unwrap_or_default(),
    );
    OmError::InvalidPart(format!(
        "part {} is named {asked}, whereas OM has: {found}",
        named.part_number
    ))
}

impl Write for CompleteMultiPartUpload {
    const PREPARE: Decision<MultipartUploadCompleteRequest> = Decision::Fields(prepare);

    fn apply(
        request: MultipartUploadCompleteRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let args = request.key_args;
        // Entries of an earlier release, without this field, get the ETag of that release.
        let of_digests = request.e_tag_of_digests == Some(true);
        check_order(&request.parts_list)?;
        let upload_id = upload::id(&args)?;
        let (upload_row, upload) = upload::find(cx.view, upload_id, &args)?;
        let began = KeyRow::of_upload(cx.view, &args, &upload)?;
        let open_row = tables::multipart_key(&began.key, upload_id);
        let open = began
            .open(cx.view, &open_row)?
            .ok_or_else(|| upload::no_such_upload(upload_id, &args))?;
        // The directories may have been deleted since the upload began.
        let (mut key_row, parents) = of_new(&args, args.recursive == Some(true), cx)?;
        let existing = key_row.committed(cx.view)?;
        atomic::check(&args, existing.as_ref())?;

        let stored = upload::parts(cx.view, upload_id)?;
        for (part_row, part) in &stored {
            let size = upload::part_size(&upload, part, &args);
            key_row.bucket.used_bytes = key_row.bucket.used_bytes.saturating_sub(size);
            cx.delete(Table::MultipartPartsTable, part_row.clone());
        }
        let (chosen, unused) = choose(stored, &request.parts_list)?;
        let hash = match of_digests {
            true => e_tag_of_digests(&chosen).unwrap_or_else(|| e_tag_of_text(&chosen)),
            false => e_tag_of_text(&chosen),
        };

        let mut key = open;
        key.data_size = size_of(&chosen)?;
        key.key_location_list = vec![KeyLocationList {
            version: Some(0),
            key_locations: chosen.into_iter().flat_map(numbered_blocks).collect(),
            file_encryption_info: None,
            is_multipart_key: Some(true),
        }];
        key.modification_time = args.modification_time.unwrap_or(key.modification_time);
        key.creation_time = key.modification_time;
        key.update_id = Some(cx.tx.index);
        key.committed_at = committed_at(cx, &key_row.bucket)?;
        // Values that exist only now, such as a checksum over the parts' checksums.
        for entry in &args.metadata {
            metadata::set(&mut key.metadata, entry.clone());
        }
        metadata::set_str(&mut key.metadata, ETAG, &hash);

        let mut garbage: Vec<KeyInfo> =
            unused.into_iter().map(|part| upload::as_key(&upload, part, &args)).collect();
        garbage.retain(garbage::has_blocks);
        if let Some(old) = &existing {
            // A writer that has synced it must not bring it back: its blocks go.
            hsync::disown(cx, key_row.key_tables(), &key_row.key, old, hsync::Fate::Overwritten)?;
        }
        let bucket = &mut key_row.bucket;
        match existing {
            None => {
                usage::check_namespace(bucket, usage::number(parents.len()).saturating_add(1))?;
                usage::count(&mut bucket.used_namespace, 1);
            }
            Some(old) => {
                key.object_id = old.object_id;
                key.creation_time = old.creation_time;
                let has_blocks = garbage::has_blocks(&old);
                usage::release_to_deleted(bucket, usage::replicated_size(&old), has_blocks);
                if has_blocks {
                    garbage.push(garbage::committed(old, cx.tx.index));
                }
            }
        }
        usage::count(&mut bucket.used_bytes, usage::replicated_size(&key));
        if !garbage.is_empty() {
            let row = tables::deleted_key(key_row.object_key(), cx.object_id());
            garbage::discard(cx, row, key_row.bucket_id(), garbage)?;
        }
        cx.delete(Table::MultipartInfoTable, upload_row);
        began.delete_open(cx, open_row);
        let origin =
            KeyArgs { acls: key.acls.clone(), owner_name: key.owner_name.clone(), ..args.clone() };
        parents.create(cx, &mut key_row, &origin)?;
        key_row.put_with_bucket(cx, key);
        let mut r = response::ok(Type::CompleteMultiPartUpload);
        r.complete_multi_part_upload_response = Some(Box::new(MultipartUploadCompleteResponse {
            volume: Some(args.volume_name),
            bucket: Some(args.bucket_name),
            key: Some(args.key_name),
            hash: Some(hash),
        }));
        Ok(r)
    }
}

fn numbered_blocks(part: MultipartPartInfo) -> Vec<KeyLocation> {
    let number = part.part_number.and_then(|n| i32::try_from(n).ok());
    let mut blocks = part.key_location_list.map(|list| list.key_locations).unwrap_or_default();
    for block in &mut blocks {
        block.part_number = number;
    }
    blocks
}

/// The MD5 that is a part's ETag, if it is one.
fn md5_of(part: &MultipartPartInfo) -> Option<[u8; 16]> {
    let mut digest = [0; 16];
    hex::decode_to_slice(part.e_tag.as_deref()?, &mut digest).ok()?;
    Some(digest)
}

/// The ETag of the whole as S3 makes it: MD5 over the parts' MD5s, and their number. None when the
/// ETag of a part is no MD5.
fn e_tag_of_digests(parts: &[MultipartPartInfo]) -> Option<String> {
    let mut md5 = Md5::new();
    for part in parts {
        md5.update(md5_of(part)?);
    }
    Some(format!("{}-{}", hex::encode(md5.finalize()), parts.len()))
}

/// The ETag of the whole as Ozone makes it: MD5 over the text of the parts' ETags, and their
/// number.
fn e_tag_of_text(parts: &[MultipartPartInfo]) -> String {
    let mut md5 = Md5::new();
    for part in parts {
        md5.update(part.e_tag.as_deref().or(part.part_name.as_deref()).unwrap_or_default());
    }
    format!("{}-{}", hex::encode(md5.finalize()), parts.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(tags: &[&str]) -> Vec<MultipartPartInfo> {
        let part = |tag: &&str| MultipartPartInfo {
            e_tag: Some((*tag).to_owned()),
            ..MultipartPartInfo::default()
        };
        tags.iter().map(part).collect()
    }

    #[test]
    fn the_etag_of_text_is_ozones() {
        assert_eq!(
            e_tag_of_text(&parts(&["etag1", "etag2"])),
            "3bc49bce88662304522584447d5520a1-2"
        );
    }

    /// `printf 'a' | md5sum`, the same of `b`; MD5 of both digests, 32 bytes.
    #[test]
    fn the_etag_of_digests_is_that_of_s3() {
        let digests = ["0cc175b9c0f1b6a831c399e269772661", "92eb5ffee6ae2fec3ad71c777531578f"];
        assert_eq!(
            e_tag_of_digests(&parts(&digests)).as_deref(),
            Some("96e024ba2074fe77e8e965ba43a704be-2")
        );
        assert_eq!(e_tag_of_digests(&parts(&[digests[0], "etag2"])), None);
        assert_eq!(e_tag_of_digests(&parts(&["0cc175b9c0f1b6a8"])), None);
    }
}
