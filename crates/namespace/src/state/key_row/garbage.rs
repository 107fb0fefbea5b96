//! Unused blocks of keys, on their way to the deletedTable.

use proto::ozone::{KeyInfo, KeyLocation, KeyLocationList, RepeatedKeyInfo};

use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::layers::retain::retain;
use crate::state::locations;
use crate::state::metadata::{self, COMMITTED_KEY_DELETED};
use crate::tables::Table;

/// Returns `true` if a key has any block. One without needs no row in the deletedTable.
pub(crate) fn has_blocks(key: &KeyInfo) -> bool {
    locations::of_key(key).next().is_some()
}

/// A committed key as the deletedTable keeps it.
pub(crate) fn committed(mut key: KeyInfo, update_id: u64) -> KeyInfo {
    key.update_id = Some(update_id);
    key.file_encryption_info = None;
    metadata::set_str(&mut key.metadata, COMMITTED_KEY_DELETED, "true");
    key
}

/// Blocks that `key` got but did not commit, in the guise of an old version of it.
pub(crate) fn uncommitted(key: &KeyInfo, blocks: Vec<KeyLocation>) -> KeyInfo {
    KeyInfo {
        volume_name: key.volume_name.clone(),
        bucket_name: key.bucket_name.clone(),
        key_name: key.key_name.clone(),
        r#type: key.r#type,
        factor: key.factor,
        ec_replication_config: key.ec_replication_config.clone(),
        creation_time: key.creation_time,
        modification_time: key.modification_time,
        object_id: key.object_id,
        update_id: key.update_id,
        is_file: key.is_file,
        key_location_list: vec![KeyLocationList {
            version: Some(0),
            key_locations: blocks,
            ..KeyLocationList::default()
        }],
        ..KeyInfo::default()
    }
}

/// Puts versions of a key into the deletedTable at `row`, but for those that a snapshot shows.
pub(crate) fn discard(
    cx: &mut ApplyContext<'_>,
    row: Vec<u8>,
    bucket_id: u64,
    versions: Vec<KeyInfo>,
) -> Result<(), OmError> {
    let key_info = retain(cx, &row, bucket_id, versions)?;
    if !key_info.is_empty() {
        let value = RepeatedKeyInfo { key_info, bucket_id: Some(bucket_id) };
        cx.put(Table::DeletedTable, row, &value);
    }
    Ok(())
}
