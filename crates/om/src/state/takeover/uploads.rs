//! Multipart uploads of schema version 0, whose parts are inside of the upload's row, get the form
//! of version 1, in which each part is a row.

use metastore::{IterRange, OfflineChange, OfflineStore};
use namespace::Table;
use namespace::tables::part_key;
use prost::Message;
use proto::ozone::{KeyInfo, KeyLocation, MultipartKeyInfo, MultipartPartInfo, PartKeyInfo};

/// The schema version in which parts are rows.
const PARTS_ARE_ROWS: u32 = 1;
/// Uploads that are converted in one batch.
const BATCH: usize = 200;

/// An upload cannot be converted.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConvertError {
    #[error(transparent)]
    Store(#[from] metastore::Error),
    #[error("the multipart upload {row} is damaged: {reason}")]
    Damaged { row: String, reason: String },
}

/// Defect of a row.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Damage(String);

/// Converts the uploads of a database; returns their number.
pub(super) fn convert(store: &OfflineStore) -> Result<usize, ConvertError> {
    let table = Table::MultipartInfoTable.name();
    if !store.tables().iter().any(|name| name == table) {
        return Ok(0);
    }
    let (mut from, mut count) = (Vec::new(), 0);
    loop {
        let mut changes = Vec::new();
        let mut seen = 0;
        {
            let mut cursor = store.iter(table, IterRange::from(from.clone()))?;
            cursor.first();
            while let Some((row, value)) = cursor.row()? {
                if seen == BATCH {
                    break;
                }
                seen += 1;
                // After this row, which remains.
                from = [row, &[0]].concat();
                let damaged = |reason: String| ConvertError::Damaged {
                    row: String::from_utf8_lossy(row).into_owned(),
                    reason,
                };
                let upload = MultipartKeyInfo::decode(value).map_err(|e| damaged(e.to_string()))?;
                if upload.schema_version() < PARTS_ARE_ROWS {
                    count += 1;
                    changes.extend(rows_of(row, upload).map_err(|Damage(e)| damaged(e))?);
                }
                cursor.next();
            }
        }
        if !changes.is_empty() {
            add_owners(store, &mut changes)?;
            store.write(&changes)?;
        }
        if seen < BATCH {
            return Ok(count);
        }
    }
}

/// The rows of an upload in its new form: the upload's, then those of its parts.
fn rows_of(row: &[u8], mut upload: MultipartKeyInfo) -> Result<Vec<OfflineChange>, Damage> {
    let (volume, bucket, key) = names(row, &upload.upload_id)?;
    upload.volume_name.get_or_insert(volume);
    upload.bucket_name.get_or_insert(bucket);
    upload.key_name.get_or_insert(key);
    upload.schema_version = Some(PARTS_ARE_ROWS);
    let parts = std::mem::take(&mut upload.part_key_info_list);
    let put = |table: Table, key: Vec<u8>, value: Vec<u8>| OfflineChange::Put {
        table: table.name().to_owned(),
        key,
        value,
    };
    let mut rows = vec![put(Table::MultipartInfoTable, row.to_vec(), upload.encode_to_vec())];
    for part in parts {
        let key = part_key(&upload.upload_id, part.part_number);
        rows.push(put(Table::MultipartPartsTable, key, part_row(part).encode_to_vec()));
    }
    Ok(rows)
}

/// Volume, bucket and key of a row `/volume/bucket/key/uploadID`.
fn names(row: &[u8], upload_id: &str) -> Result<(String, String, String), Damage> {
    let text = std::str::from_utf8(row).map_err(|e| Damage(e.to_string()))?;
    let names = text.strip_suffix(upload_id).and_then(|rest| rest.strip_suffix('/'));
    let mut parts = names.and_then(|names| names.strip_prefix('/')).unwrap_or("").splitn(3, '/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(volume), Some(bucket), Some(key)) => {
            Ok((volume.to_owned(), bucket.to_owned(), key.to_owned()))
        }
        _ => Err(Damage("its key is not /volume/bucket/key/uploadID".to_owned())),
    }
}

/// Row of a part, without the locations of its blocks, which SCM has.
fn part_row(part: PartKeyInfo) -> MultipartPartInfo {
    let key = part.part_key_info;
    let e_tag = key.metadata.iter().find(|kv| kv.key == "ETag").and_then(|kv| kv.value.clone());
    let mut locations = key.key_location_list.into_iter().next_back();
    for location in locations.iter_mut().flat_map(|list| &mut list.key_locations) {
        strip(location);
    }
    MultipartPartInfo {
        part_name: Some(part.part_name),
        part_number: Some(part.part_number),
        e_tag,
        key_location_list: locations,
        data_size: Some(key.data_size),
        modification_time: Some(key.modification_time),
        object_id: key.object_id,
        update_id: key.update_id,
        file_encryption_info: key.file_encryption_info,
        file_checksum: key.file_checksum,
        checksum: None,
    }
}

fn strip(location: &mut KeyLocation) {
    location.pipeline = None;
    location.token = None;
}

/// Owner and rights of an upload are those of its open key, where that is found by names.
fn add_owners(store: &OfflineStore, changes: &mut [OfflineChange]) -> Result<(), ConvertError> {
    for change in changes {
        let OfflineChange::Put { table, key, value } = change else { continue };
        if table != Table::MultipartInfoTable.name() {
            continue;
        }
        let Ok(mut upload) = MultipartKeyInfo::decode(value.as_slice()) else { continue };
        let open = store.get(Table::OpenKeyTable.name(), key)?;
        let Some(open) = open.and_then(|open| KeyInfo::decode(open.as_slice()).ok()) else {
            continue;
        };
        if upload.owner_name.is_none() {
            upload.owner_name = open.owner_name;
        }
        if upload.acls.is_empty() {
            upload.acls = open.acls;
        }
        *value = upload.encode_to_vec();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proto::hdds::{BlockId, KeyValue, Pipeline};
    use proto::ozone::KeyLocationList;

    use super::*;

    #[test]
    fn parts_become_rows() {
        let location = KeyLocation {
            block_id: BlockId::default(),
            length: 5,
            pipeline: Some(Box::new(Pipeline::default())),
            ..KeyLocation::default()
        };
        let list = KeyLocationList { key_locations: vec![location], ..Default::default() };
        let tag = KeyValue { key: "ETag".into(), value: Some("abc".into()) };
        let part = PartKeyInfo {
            part_name: "/v/b/dir/k-u-1-3".into(),
            part_number: 3,
            part_key_info: KeyInfo {
                data_size: 5,
                key_location_list: vec![list],
                metadata: vec![tag],
                ..KeyInfo::default()
            },
        };
        let upload = MultipartKeyInfo {
            upload_id: "u-1".into(),
            part_key_info_list: vec![part],
            ..MultipartKeyInfo::default()
        };
        let rows = rows_of(b"/v/b/dir/k/u-1", upload).unwrap();
        let [OfflineChange::Put { value: upload, .. }, OfflineChange::Put { key, value: part, .. }] =
            rows.as_slice()
        else {
            panic!("{rows:?}")
        };
        let upload = MultipartKeyInfo::decode(upload.as_slice()).unwrap();
        assert_eq!(upload.schema_version, Some(1));
        assert_eq!(upload.volume_name(), "v");
        assert_eq!(upload.bucket_name(), "b");
        assert_eq!(upload.key_name(), "dir/k");
        assert!(upload.part_key_info_list.is_empty());
        assert_eq!(key, b"u-1/\0\0\0\x03");
        let part = MultipartPartInfo::decode(part.as_slice()).unwrap();
        assert_eq!((part.part_number(), part.data_size(), part.e_tag()), (3, 5, "abc"));
        let locations = part.key_location_list.unwrap().key_locations;
        assert_eq!((locations[0].length, locations[0].pipeline.is_none()), (5, true));
        assert!(names(b"/v/b/u-1", "u-1").is_err());
        assert!(names(b"/v/b/k/u-2", "u-1").is_err());
    }
}
