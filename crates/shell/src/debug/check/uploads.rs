//! Multipart uploads and their parts.
//!
//! The row of an upload is `/volume/bucket/key/uploadID`. Earlier releases accepted upload ids with
//! a slash: with key `a` and id `b/ID` a client reached the upload of key `a/b`, without a check of
//! its ACLs. An upload that was aborted in this way left its parts; a part that was written in this
//! way has an id without an upload.

use std::collections::HashSet;

use metastore::{IterRange, OfflineStore};
use namespace::Table;
use namespace::tables::{bucket_key, multipart_key, object_key};
use proto::ozone::{MultipartKeyInfo, MultipartPartInfo};
use serde_json::json;

use super::findings::{Findings, Kind};
use super::rows::{for_each_message, shown};
use crate::ShellError;

/// Length of the slash and part number after the upload id.
const NUMBER_BYTES: usize = 5;

/// Checks all uploads.
///
/// # Errors
/// If the database cannot be read.
pub(super) fn check(store: &OfflineStore, findings: &mut Findings) -> Result<(), ShellError> {
    let mut uploads = HashSet::new();
    let mut failed = None;
    let table = Table::MultipartInfoTable;
    for_each_message(
        store,
        table,
        IterRange::all(),
        findings,
        |row, upload: MultipartKeyInfo, findings| {
            if let Err(error) = check_upload(store, row, &upload, findings) {
                failed = Some(error);
            }
            uploads.insert(upload.upload_id);
        },
    )?;
    if let Some(error) = failed {
        return Err(error);
    }
    let table = Table::MultipartPartsTable;
    for_each_message(
        store,
        table,
        IterRange::all(),
        findings,
        |row, part: MultipartPartInfo, findings| {
            let id = row.len().checked_sub(NUMBER_BYTES).and_then(|end| row.get(..end));
            let Some(id) = id.and_then(|id| std::str::from_utf8(id).ok()) else {
                findings.damaged(table.name(), row, "its key is not an upload id and a number");
                return;
            };
            if !uploads.contains(id) {
                findings.add(
                    Kind::PartWithoutItsUpload,
                    json!({
                        "uploadID": id,
                        "part": part.part_number,
                        "bytes": part.data_size.unwrap_or(0),
                        "partName": part.part_name,
                    }),
                );
            }
        },
    )
}

fn check_upload(
    store: &OfflineStore,
    row: &[u8],
    upload: &MultipartKeyInfo,
    findings: &mut Findings,
) -> Result<(), ShellError> {
    let id = upload.upload_id.as_str();
    let names = (&upload.volume_name, &upload.bucket_name, &upload.key_name);
    let (why, bucket) = match names {
        (Some(volume), Some(bucket), Some(key)) => {
            let own = multipart_key(&object_key(volume, bucket, key), id);
            let why = (own != row).then(|| format!("it belongs to key {key}"));
            (why, Some(bucket_key(volume, bucket)))
        }
        // Rows of Ozone's older releases have no key name: then the row must end with the id.
        _ => {
            let ends = row.strip_suffix(id.as_bytes()).is_some_and(|name| name.ends_with(b"/"));
            let why = (!ends).then(|| "its row ends with another id".to_owned());
            (why, bucket_of(row))
        }
    };
    let why = why.or_else(|| id.contains('/').then(|| "its id has a slash".to_owned()));
    if let Some(why) = why {
        let about = json!({ "row": shown(row), "uploadID": id, "why": why });
        findings.add(Kind::UploadOfAnotherKey, about);
    }
    let is_there = match bucket {
        Some(bucket) => store.get(Table::BucketTable.name(), &bucket)?.is_some(),
        None => false,
    };
    if !is_there {
        let about = json!({ "row": shown(row), "uploadID": id });
        findings.add(Kind::UploadWithoutItsBucket, about);
    }
    Ok(())
}

/// `/volume/bucket` of a row with that prefix.
fn bucket_of(row: &[u8]) -> Option<Vec<u8>> {
    let mut slashes = row.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let (third, _) = slashes.nth(2)?;
    row.get(..third).map(<[u8]>::to_vec)
}
