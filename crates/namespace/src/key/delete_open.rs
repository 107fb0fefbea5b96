//! DeleteOpenKeys: sessions that nobody will finish.

use std::collections::HashSet;

use proto::ozone::{BucketLayoutProto, DeleteOpenKeysRequest, KeyInfo, OmResponse, Type};

use super::place::Place;
use super::{garbage, hsync};
use crate::apply::ApplyContext;
use crate::error::OmError;
use crate::locations::{self, block_id};
use crate::response;
use crate::row;
use crate::tables::{self, Table};

pub(crate) fn apply(
    request: DeleteOpenKeysRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    if request.bucket_layout == Some(BucketLayoutProto::FileSystemOptimized as i32) {
        return Err(OmError::NotSupported(
            "open keys of FILE_SYSTEM_OPTIMIZED buckets are not supported".to_owned(),
        ));
    }
    for in_bucket in request.open_keys_per_bucket {
        // The bucket may be gone: its open keys still have blocks.
        let bucket_key = tables::bucket_key(&in_bucket.volume_name, &in_bucket.bucket_name);
        let bucket_id = cx.view.bucket(&bucket_key)?.and_then(|b| b.object_id).unwrap_or_default();
        for open_key in in_bucket.keys {
            abandon(cx, open_key.name.into_bytes(), bucket_id)?;
        }
    }
    Ok(response::ok(Type::DeleteOpenKeys))
}

fn abandon(cx: &mut ApplyContext<'_>, open_key: Vec<u8>, bucket_id: u64) -> Result<(), OmError> {
    // The row of an upload under way, which goes with its upload.
    if cx.view.exists(Table::MultipartInfoTable, &open_key)? {
        return Ok(());
    }
    // Committed in the meantime: nothing to do.
    let Some(open) = row::get::<KeyInfo>(cx.view, Place::OPEN, &open_key)? else { return Ok(()) };
    let mut blocks: Vec<_> = locations::of_key(&open).cloned().collect();
    let row = tables::object_key(&open.volume_name, &open.bucket_name, &open.key_name);
    let synced = row::get::<KeyInfo>(cx.view, Place::COMMITTED, &row)?
        .filter(|key| hsync::writer(key).is_some_and(|id| tables::open_key(&row, id) == open_key));
    if let Some(synced) = synced {
        // What the session has synced is the key's now.
        let kept: HashSet<_> = locations::of_key(&synced).map(block_id).collect();
        blocks.retain(|b| !kept.contains(&block_id(b)));
    }
    if !blocks.is_empty() {
        let object_id = open.object_id.unwrap_or_else(|| cx.object_id());
        let deleted = tables::deleted_key(&open_key, object_id);
        garbage::discard(cx, deleted, bucket_id, vec![garbage::uncommitted(&open, blocks)]);
    }
    cx.delete(Place::OPEN, open_key);
    Ok(())
}
