//! Versions of keys that their bucket does not need any more, but a snapshot does.

use proto::ozone::{KeyInfo, RepeatedKeyInfo};

use super::rows::GarbageKey;
use super::scope;
use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::metadata::{self, COMMITTED_KEY_DELETED};
use crate::state::row::Bucket;
use crate::tables::{Table, bucket_key};

/// Start of the life of a version that becomes the key's now, if there are snapshots that do not
/// show it.
pub(crate) fn committed_at(cx: &ApplyContext<'_>, bucket: &Bucket) -> Result<Option<u64>, OmError> {
    let chains = cx.view.snapshots()?;
    if chains.is_empty() {
        return Ok(None);
    }
    let newest = chains.newest_active(&scope(cx.view, bucket)?);
    Ok(newest.map(|_| cx.tx.index))
}

/// Since when a discarded version was the key's; `None` when it never was. One that was committed
/// while its bucket had no snapshot is in all that came later.
fn since(version: &KeyInfo) -> Option<u64> {
    let was_committed = metadata::get(&version.metadata, COMMITTED_KEY_DELETED).is_some();
    version.committed_at.or(was_committed.then_some(0))
}

/// Keeps the versions that a snapshot shows, of those that move to the deletedTable at `row`;
/// returns the others.
pub(crate) fn retain(
    cx: &mut ApplyContext<'_>,
    row: &[u8],
    bucket_id: u64,
    versions: Vec<KeyInfo>,
) -> Result<Vec<KeyInfo>, OmError> {
    let chains = cx.view.snapshots()?;
    let Some(first) = versions.first().filter(|_| !chains.is_empty()) else { return Ok(versions) };
    let bucket = cx.view.bucket(&bucket_key(&first.volume_name, &first.bucket_name))?;
    // A deleted bucket has no snapshot.
    let Some(bucket) = bucket.filter(|found| found.object_id == Some(bucket_id)) else {
        return Ok(versions);
    };
    let scope = scope(cx.view, &bucket)?;
    let Some(layer) = chains.newest_active(&scope).map(|layer| layer.index) else {
        return Ok(versions);
    };
    let mut garbage = Vec::new();
    for (version, number) in versions.into_iter().zip(0u32..) {
        match since(&version).filter(|since| *since <= layer) {
            Some(since) => {
                cx.kept.version(chains.of(&scope), layer, since, &version);
                let key = GarbageKey { layer, since, entry: cx.tx.index, number, row };
                let value = RepeatedKeyInfo { key_info: vec![version], bucket_id: Some(bucket_id) };
                cx.put(Table::SnapshotGarbageTable, key.encode(), &value);
            }
            None => garbage.push(version),
        }
    }
    Ok(garbage)
}
