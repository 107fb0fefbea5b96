//! A directory in the forms that requests show it.

use proto::hdds::ReplicationType;
use proto::ozone::{BasicKeyInfo, DirectoryInfo, KeyArgs, KeyInfo, KeyLocationList};
use types::ReplicationConfig;

use super::Tree;
use super::find::{Entry, Found, find};
use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::row::Bucket;
use crate::tables::Table;

/// The directory as a key with `name` in the answer.
pub(crate) fn as_key(directory: &DirectoryInfo, bucket: &Bucket, name: String) -> KeyInfo {
    let mut key = KeyInfo {
        volume_name: bucket.volume_name.clone(),
        bucket_name: bucket.bucket_name.clone(),
        key_name: name,
        creation_time: directory.creation_time,
        modification_time: directory.modification_time,
        metadata: directory.metadata.clone(),
        acls: directory.acls.clone(),
        object_id: Some(directory.object_id),
        update_id: Some(directory.update_id),
        parent_id: Some(directory.parent_id),
        owner_name: directory.owner_name.clone(),
        is_file: Some(false),
        // A version without blocks: the client reads the latest one.
        key_location_list: vec![KeyLocationList::default()],
        ..KeyInfo::default()
    };
    set_replication(&mut key, bucket);
    key
}

/// The bucket itself as a directory: the parent of its top level.
pub(crate) fn of_bucket(bucket: &Bucket) -> KeyInfo {
    let mut key = KeyInfo {
        volume_name: bucket.volume_name.clone(),
        bucket_name: bucket.bucket_name.clone(),
        creation_time: bucket.creation_time.unwrap_or_default(),
        modification_time: bucket.modification_time.unwrap_or_default(),
        acls: bucket.acls.clone(),
        object_id: bucket.object_id,
        update_id: bucket.update_id,
        is_file: Some(false),
        owner_name: bucket.owner.clone(),
        ..KeyInfo::default()
    };
    set_replication(&mut key, bucket);
    key
}

/// The directory as an entry of a light list.
pub(crate) fn as_basic(directory: &DirectoryInfo, bucket: &Bucket, name: String) -> BasicKeyInfo {
    let (kind, factor, ec) = replication(bucket);
    BasicKeyInfo {
        key_name: Some(name),
        data_size: Some(0),
        creation_time: Some(directory.creation_time),
        modification_time: Some(directory.modification_time),
        owner_name: directory.owner_name.clone(),
        r#type: Some(kind),
        factor,
        ec_replication_config: ec,
        is_encrypted: Some(false),
        is_file: Some(false),
        ..BasicKeyInfo::default()
    }
}

/// Sets the modification time of the directory that `args` names; false if it names none. A time
/// of -1 leaves it as it is.
pub(crate) fn set_time(
    cx: &mut ApplyContext<'_>,
    bucket: &Bucket,
    args: &KeyArgs,
    mtime: i64,
) -> Result<bool, OmError> {
    let tree = Tree::of(cx.view, bucket)?;
    let Some(Found { row, entry: Entry::Directory(found), .. }) = find(&tree, &args.key_name)?
    else {
        return Ok(false);
    };
    if mtime < -1 {
        return Err(OmError::InvalidRequest(format!("modification time {mtime}")));
    }
    if mtime >= 0 {
        let mut directory = DirectoryInfo::clone(&found);
        directory.modification_time = mtime.cast_unsigned();
        directory.update_id = cx.tx.index;
        cx.put(Table::DirectoryTable, row, &directory);
    }
    Ok(true)
}

fn set_replication(key: &mut KeyInfo, bucket: &Bucket) {
    (key.r#type, key.factor, key.ec_replication_config) = replication(bucket);
}

/// Directories have no blocks, but clients need some replication: the bucket's, else three
/// replicas, as Ozone shows them.
fn replication(bucket: &Bucket) -> (i32, Option<i32>, Option<proto::hdds::EcReplicationConfig>) {
    let default = bucket.default_replication_config.as_ref().and_then(|default| {
        ReplicationConfig::from_wire(
            default.r#type,
            default.factor,
            default.ec_replication_config.as_ref(),
        )
        .ok()
    });
    match default {
        Some(config) => (
            config.wire_type() as i32,
            config.wire_factor().map(|factor| factor as i32),
            config.wire_ec(),
        ),
        None => (
            ReplicationType::Ratis as i32,
            Some(proto::hdds::ReplicationFactor::Three as i32),
            None,
        ),
    }
}
