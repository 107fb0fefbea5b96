//! DeleteOpenKeys: abandoned sessions. Synced blocks of a session are the key's, so a synced key is
//! closed as it is; all other blocks of the session are garbage. Rows are named by their keys, not
//! by paths: the directory of a file may have moved since, or be deleted.

use std::collections::HashSet;

use proto::ozone::{BucketLayoutProto, DeleteOpenKeysRequest, KeyInfo, OmResponse, Type};

use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::{OmError, ViewError};
use crate::state::context::ApplyContext;
use crate::state::key_row::{KeyTables, garbage, hsync};
use crate::state::locations::{self, block_id};
use crate::state::metadata::{self, HSYNC_CLIENT_ID};
use crate::state::view;
use crate::tables;

pub(crate) struct DeleteOpenKeys;

impl Command for DeleteOpenKeys {
    const TYPE: Type = Type::DeleteOpenKeys;
    const AUDIT: &'static str = "DELETE_OPEN_KEY";
    const RIGHTS: Rights<DeleteOpenKeysRequest> = Rights::Om;
    request_part!(delete_open_keys_request: DeleteOpenKeysRequest);
}

impl Write for DeleteOpenKeys {
    const PREPARE: Decision<DeleteOpenKeysRequest> = Decision::Nothing;

    fn apply(
        request: DeleteOpenKeysRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let key_tables = match request.bucket_layout() {
            BucketLayoutProto::FileSystemOptimized => KeyTables::Tree,
            _ => KeyTables::Flat,
        };
        for in_bucket in request.open_keys_per_bucket {
            // The bucket may have been deleted: its open keys still have blocks.
            let bucket_key = tables::bucket_key(&in_bucket.volume_name, &in_bucket.bucket_name);
            let bucket = view::unless_damaged(cx.view.bucket(&bucket_key))?;
            let bucket_id = bucket.and_then(|b| b.object_id).unwrap_or_default();
            for open_key in in_bucket.keys {
                abandon(cx, key_tables, open_key.name.into_bytes(), bucket_id)?;
            }
        }
        Ok(response::ok(Type::DeleteOpenKeys))
    }
}

/// Returns `true` if `/session` is an upload's: those of clients are numbers.
fn is_upload(session: &[u8]) -> bool {
    let number = std::str::from_utf8(session).ok().and_then(|s| s.get(1..)?.parse::<i64>().ok());
    number.is_none()
}

fn abandon(
    cx: &mut ApplyContext<'_>,
    key_tables: KeyTables,
    open_key: Vec<u8>,
    bucket_id: u64,
) -> Result<(), OmError> {
    // Committed in the meantime: nothing to do.
    let Some(open) = view::get::<KeyInfo>(cx.view, key_tables.open(), &open_key)? else {
        return Ok(());
    };
    let mut blocks: Vec<_> = locations::of_key(&open).cloned().collect();
    // Without the session's id, the row is the committed key's.
    let slash = open_key.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
    let (row, session) = (open_key[..slash].to_vec(), &open_key[slash..]);
    // The row of an upload under way, which is removed with its upload.
    if is_upload(session) {
        return Ok(());
    }
    let committed = match view::get::<KeyInfo>(cx.view, key_tables.committed(), &row) {
        // It may be this session's, with these blocks.
        Err(ViewError::Damaged { .. }) => return Ok(()),
        found => found?,
    };
    let synced = committed
        .filter(|key| hsync::writer(key).is_some_and(|id| tables::open_key(&row, id) == open_key));
    if let Some(mut synced) = synced {
        let kept: HashSet<_> = locations::of_key(&synced).map(block_id).collect();
        blocks.retain(|b| !kept.contains(&block_id(b)));
        metadata::remove(&mut synced.metadata, HSYNC_CLIENT_ID);
        synced.update_id = Some(cx.tx.index);
        cx.put(key_tables.committed(), row, &synced);
    }
    if !blocks.is_empty() {
        let object_id = open.object_id.unwrap_or_else(|| cx.object_id());
        let deleted = match key_tables {
            KeyTables::Flat => tables::deleted_key(&open_key, object_id),
            KeyTables::Tree => {
                // Named by the stored name: its directory may have moved.
                let mut named =
                    tables::object_key(&open.volume_name, &open.bucket_name, &open.key_name);
                named.extend_from_slice(session);
                tables::deleted_key(&named, object_id)
            }
        };
        garbage::discard(cx, deleted, bucket_id, vec![garbage::uncommitted(&open, blocks)])?;
    }
    cx.delete(key_tables.open(), open_key);
    Ok(())
}
