//! Reading uploads and parts.

use std::ops::ControlFlow;

use proto::ozone::{KeyArgs, KeyInfo, MultipartKeyInfo, MultipartPartInfo};

use crate::error::OmError;
use crate::state::row;
use crate::state::scan::try_scan;
use crate::state::usage;
use crate::state::view::{self, View};
use crate::tables::{Table, multipart_key, object_key, part_prefix, prefix_end};

/// Numbers that parts may have, S3's rule.
const PART_NUMBERS: std::ops::RangeInclusive<u32> = 1..=10_000;

/// The upload that `args` names, before it is logged.
///
/// # Errors
/// As [`id`], and when its id has a slash in it. No upload has such an id; with one, the row of the
/// upload of another key would be meant: that of `a/b` by key `a` and id `b/...`, whose rights were
/// not checked. `apply` does not refuse it, as older members do not.
pub(crate) fn named(args: &KeyArgs) -> Result<&str, OmError> {
    let id = id(args)?;
    check_id(id, args)?;
    Ok(id)
}

/// # Errors
/// When an id cannot be one of an upload.
pub(crate) fn check_id(id: &str, args: &KeyArgs) -> Result<(), OmError> {
    if id.contains('/') { Err(no_such_upload(id, args)) } else { Ok(()) }
}

/// The upload that `args` belongs to.
pub(crate) fn id(args: &KeyArgs) -> Result<&str, OmError> {
    args.multipart_upload_id
        .as_deref()
        .filter(|id| !id.is_empty())
        .ok_or_else(|| OmError::missing("multipartUploadID"))
}

/// The number of the part that `args` is about.
pub(crate) fn check_part_number(args: &KeyArgs) -> Result<u32, OmError> {
    let number = args.multipart_number.unwrap_or(0);
    if PART_NUMBERS.contains(&number) {
        return Ok(number);
    }
    Err(OmError::InvalidPart(format!(
        "part number {number} is not between {} and {}",
        PART_NUMBERS.start(),
        PART_NUMBERS.end()
    )))
}

pub(crate) fn no_such_upload(upload_id: &str, args: &KeyArgs) -> OmError {
    OmError::NoSuchUpload {
        upload_id: upload_id.to_owned(),
        key: format!("{}/{}/{}", args.volume_name, args.bucket_name, args.key_name),
    }
}

/// The upload and the key of its row in the multipartInfoTable.
pub(crate) fn find(
    view: &dyn View,
    upload_id: &str,
    args: &KeyArgs,
) -> Result<(Vec<u8>, MultipartKeyInfo), OmError> {
    let object_key = object_key(&args.volume_name, &args.bucket_name, &args.key_name);
    let key = multipart_key(&object_key, upload_id);
    let upload = view::get(view, Table::MultipartInfoTable, &key)?
        .ok_or_else(|| no_such_upload(upload_id, args))?;
    Ok((key, upload))
}

/// All parts of an upload, by number.
pub(crate) fn parts(
    view: &dyn View,
    upload_id: &str,
) -> Result<Vec<(Vec<u8>, MultipartPartInfo)>, OmError> {
    let prefix = part_prefix(upload_id);
    let mut parts = Vec::new();
    let table = Table::MultipartPartsTable;
    try_scan(view, table, &prefix, prefix_end(&prefix).as_deref(), &mut |key, value| {
        parts.push((key.to_vec(), row::decode_slice(table, key, value)?));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(parts)
}

/// A part in the form of a key: its usage, and its entry in the deletedTable.
pub(crate) fn as_key(
    upload: &MultipartKeyInfo,
    part: MultipartPartInfo,
    args: &KeyArgs,
) -> KeyInfo {
    KeyInfo {
        volume_name: args.volume_name.clone(),
        bucket_name: args.bucket_name.clone(),
        key_name: args.key_name.clone(),
        data_size: part.data_size.unwrap_or(0),
        r#type: upload.r#type,
        factor: upload.factor,
        ec_replication_config: upload.ec_replication_config.clone(),
        key_location_list: part.key_location_list.into_iter().collect(),
        creation_time: part.modification_time.unwrap_or(0),
        modification_time: part.modification_time.unwrap_or(0),
        object_id: part.object_id,
        update_id: part.update_id,
        is_file: Some(true),
        file_checksum: part.file_checksum,
        ..KeyInfo::default()
    }
}

/// Replicated bytes of a part.
pub(crate) fn part_size(
    upload: &MultipartKeyInfo,
    part: &MultipartPartInfo,
    args: &KeyArgs,
) -> u64 {
    usage::replicated_size(&as_key(upload, part.clone(), args))
}
