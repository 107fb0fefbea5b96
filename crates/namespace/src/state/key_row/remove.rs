//! Taking a committed key out of its table.

use proto::ozone::KeyInfo;

use super::{KeyTables, garbage, hsync};
use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::row::Bucket;
use crate::state::usage;
use crate::tables;

/// The row of a committed key.
pub(crate) struct CommittedRow {
    pub key_tables: KeyTables,
    pub key: Vec<u8>,
    /// `/volume/bucket/key`, when the row is named otherwise.
    pub object_key: Option<Vec<u8>>,
}

/// Takes a committed key out of its table and its bucket's counters; its blocks are garbage.
pub(crate) fn remove(
    cx: &mut ApplyContext<'_>,
    bucket: &mut Bucket,
    row: CommittedRow,
    key: KeyInfo,
) -> Result<(), OmError> {
    hsync::disown(cx, row.key_tables, &row.key, &key, hsync::Fate::Deleted)?;
    let has_blocks = garbage::has_blocks(&key);
    usage::release_to_deleted(bucket, usage::replicated_size(&key), has_blocks);
    bucket.used_namespace = bucket.used_namespace.saturating_sub(1);
    if has_blocks {
        let named = row.object_key.as_ref().unwrap_or(&row.key);
        let deleted = tables::deleted_key(named, key.object_id.unwrap_or_else(|| cx.object_id()));
        let bucket_id = bucket.object_id.unwrap_or_default();
        let versions = vec![garbage::committed(key, cx.tx.index)];
        garbage::discard(cx, deleted, bucket_id, versions)?;
    }
    cx.delete(row.key_tables.committed(), row.key);
    Ok(())
}
