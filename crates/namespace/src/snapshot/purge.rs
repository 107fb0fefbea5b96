//! SnapshotPurge: a deleted snapshot is taken apart, a step at a time. Rows of its layer move to
//! the layer of the snapshot before it, if that one needs them, and are removed permanently
//! otherwise; when none is left the snapshot's own rows are removed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use prost::Message;
use proto::ozone::{
    OmResponse, RepeatedKeyInfo, SnapshotInfo, SnapshotPurgeRequest, SnapshotPurgeResponse, Type,
};

use crate::command::audit::AuditParams;
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::{OmError, ViewError};
use crate::state::chain::{self, Chains, Layer};
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::effect::Effect;
use crate::state::layers::keep;
use crate::state::layers::rows::{self, GarbageKey};
use crate::state::view;
use crate::tables::Table;

/// Rows of one step, unless the request specifies fewer.
const MOST_ROWS: u32 = 1000;

pub(crate) struct SnapshotPurge;

impl Command for SnapshotPurge {
    const TYPE: Type = Type::SnapshotPurge;
    const AUDIT: &'static str = "SNAPSHOT_PURGE";
    const RIGHTS: Rights<SnapshotPurgeRequest> = Rights::Om;
    request_part!(snapshot_purge_request: SnapshotPurgeRequest);

    fn audit(request: &SnapshotPurgeRequest) -> AuditParams {
        vec![("snapshots", request.snapshot_db_keys.join(","))]
    }
}

fn prepare(request: &mut SnapshotPurgeRequest, _: &PrepareContext<'_>) -> Result<(), OmError> {
    let rows = request.rows.filter(|rows| *rows > 0).unwrap_or(MOST_ROWS);
    request.rows = Some(rows.min(MOST_ROWS));
    Ok(())
}

impl Write for SnapshotPurge {
    const PREPARE: Decision<SnapshotPurgeRequest> = Decision::Fields(prepare);

    fn apply(
        request: SnapshotPurgeRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let most = request.rows.unwrap_or(MOST_ROWS).min(MOST_ROWS);
        let chains = cx.view.snapshots()?;
        for key in &request.snapshot_db_keys {
            let purged = chains
                .all()
                .find(|(_, layer)| !layer.active && layer.info_key == key.as_bytes())
                .map(|(scope, layer)| (scope.to_vec(), layer.clone()));
            // Taken apart in the meantime: nothing to do.
            let Some((scope, layer)) = purged else { continue };
            let before = chains.active_before(&scope, layer.index).map(|layer| layer.index);
            let mut step = Step { layer: layer.index, before, left: most };
            step.changes(cx, request.from_change.as_deref())?;
            step.garbage(cx, chains.of(&scope), request.from_garbage.as_deref())?;
            if step.left == most && is_empty(cx, layer.index)? {
                forget(cx, &chains, &scope, &layer)?;
            }
        }
        let mut r = response::ok(Type::SnapshotPurge);
        r.snapshot_purge_response = Some(Box::new(SnapshotPurgeResponse {}));
        Ok(r)
    }
}

/// Effect of one entry on a layer.
struct Step {
    /// Index of the layer.
    layer: u64,
    /// Index of the snapshot before it.
    before: Option<u64>,
    /// Rows that may still go.
    left: u32,
}

impl Step {
    /// Counts one more row, or stops at the limit.
    fn take(&mut self) -> ControlFlow<()> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        }
    }

    /// Rows as they were.
    fn changes(&mut self, cx: &mut ApplyContext<'_>, from: Option<&[u8]>) -> Result<(), OmError> {
        let (first, end) = rows::layer_range(self.layer);
        let start = from.filter(|from| *from > first.as_slice()).unwrap_or(&first);
        let mut changes = Vec::new();
        cx.view.scan(Table::SnapshotChangeTable, start, end.as_deref(), &mut |change, _| {
            let flow = self.take();
            if flow.is_continue() {
                changes.push(change.to_vec());
            }
            flow
        })?;
        for change in changes {
            if let Some((_, tag, key)) = rows::split_change_key(&change) {
                let row = rows::row_key(tag, key, self.layer);
                if let Some(before) = self.before {
                    let from = rows::row_key(tag, key, before);
                    // An older state of the row exists already, or this one is to be kept.
                    if !keep::has_between(cx.view, &from, &row)?
                        && let Some(value) = cx.view.get(Table::SnapshotRowTable, &row)?
                    {
                        cx.effects.extend(keep::layer_row(before, tag, key, value));
                    }
                }
                cx.delete(Table::SnapshotRowTable, row);
            }
            cx.delete(Table::SnapshotChangeTable, change);
        }
        Ok(())
    }

    /// Versions of keys.
    fn garbage(
        &mut self,
        cx: &mut ApplyContext<'_>,
        layers: &[Layer],
        from: Option<&[u8]>,
    ) -> Result<(), OmError> {
        let (first, end) = rows::layer_range(self.layer);
        let start = from.filter(|from| *from > first.as_slice()).unwrap_or(&first);
        let (mut kept, table) = (Vec::new(), Table::SnapshotGarbageTable);
        cx.view.scan(table, start, end.as_deref(), &mut |key, value| {
            let flow = self.take();
            if flow.is_continue() {
                kept.push((key.to_vec(), bytes::Bytes::copy_from_slice(value)));
            }
            flow
        })?;
        // Several versions may be of one row.
        let mut deleted: BTreeMap<Vec<u8>, RepeatedKeyInfo> = BTreeMap::new();
        for (key, value) in kept {
            cx.delete(table, key.clone());
            let Some(place) = GarbageKey::decode(&key) else { continue };
            if let Some(before) = self.before.filter(|before| place.since <= *before) {
                let moved = GarbageKey { layer: before, ..place };
                // A damaged row moves on as it is, and counts nothing.
                let kept = RepeatedKeyInfo::decode(value.as_ref()).unwrap_or_default();
                for version in &kept.key_info {
                    cx.kept.version(layers, before, place.since, version);
                }
                cx.effects.push(Effect::Put { table, key: moved.encode(), value });
                continue;
            }
            let Ok(version) = RepeatedKeyInfo::decode(value.clone()) else {
                cx.effects.push(damaged_version(&place, value));
                continue;
            };
            let row = match deleted.get_mut(place.row) {
                Some(row) => row,
                None => match view::get::<RepeatedKeyInfo>(cx.view, Table::DeletedTable, place.row)
                {
                    // The existing row remains.
                    Err(ViewError::Damaged { .. }) => {
                        cx.effects.push(damaged_version(&place, value));
                        continue;
                    }
                    there => {
                        deleted.entry(place.row.to_vec()).or_insert(there?.unwrap_or_default())
                    }
                },
            };
            row.bucket_id = row.bucket_id.or(version.bucket_id);
            row.key_info.extend(version.key_info);
        }
        for (key, row) in deleted {
            cx.put(Table::DeletedTable, key, &row);
        }
        Ok(())
    }
}

/// A version that cannot be added to its row in the deletedTable gets a row with a key of its own:
/// KeyDeletingService counts it when it does not decode, and frees its blocks when it does.
fn damaged_version(place: &GarbageKey<'_>, value: bytes::Bytes) -> Effect {
    let own = format!("/{}-{}", place.entry, place.number);
    let key = [place.row, own.as_bytes()].concat();
    Effect::Put { table: Table::DeletedTable, key, value }
}

/// Returns `true` if a layer has no rows any more.
fn is_empty(cx: &ApplyContext<'_>, layer: u64) -> Result<bool, OmError> {
    let (first, end) = rows::layer_range(layer);
    let mut empty = true;
    for table in [Table::SnapshotChangeTable, Table::SnapshotGarbageTable] {
        cx.view.scan(table, &first, end.as_deref(), &mut |_, _| {
            empty = false;
            ControlFlow::Break(())
        })?;
    }
    Ok(empty)
}

/// Removes the snapshot's own rows; the later snapshots get the one before it as their predecessor.
fn forget(
    cx: &mut ApplyContext<'_>,
    chains: &Chains,
    scope: &[u8],
    layer: &Layer,
) -> Result<(), OmError> {
    let view = cx.view;
    let info = |key: &[u8]| {
        view::unless_damaged(view::get::<SnapshotInfo>(view, Table::SnapshotInfoTable, key))
    };
    let purged = info(&layer.info_key)?;
    cx.delete(Table::SnapshotInfoTable, layer.info_key.clone());
    cx.delete(Table::SnapshotTable, chain::key(scope, layer.index));
    let (first, end) = rows::layer_range(layer.index);
    let mut sums = Vec::new();
    cx.view.scan(Table::SnapshotUsageTable, &first, end.as_deref(), &mut |key, _| {
        sums.push(key.to_vec());
        ControlFlow::Continue(())
    })?;
    sums.into_iter().for_each(|key| cx.delete(Table::SnapshotUsageTable, key));
    let Some(purged) = purged else { return Ok(()) };
    let next = |layers: &mut dyn Iterator<Item = &Layer>| {
        layers.filter(|l| l.index > layer.index).min_by_key(|l| l.index).map(|l| l.info_key.clone())
    };
    let in_bucket = next(&mut chains.of(scope).iter());
    let of_all = next(&mut chains.all().map(|(_, layer)| layer));
    let mut changed: BTreeMap<Vec<u8>, SnapshotInfo> = BTreeMap::new();
    for (key, in_bucket) in [(in_bucket, true), (of_all, false)] {
        let Some(key) = key else { continue };
        let info = match changed.remove(&key) {
            Some(info) => Some(info),
            None => info(&key)?,
        };
        let Some(mut info) = info else { continue };
        match in_bucket {
            true => info.path_previous_snapshot_id = purged.path_previous_snapshot_id,
            false => info.global_previous_snapshot_id = purged.global_previous_snapshot_id,
        }
        changed.insert(key, info);
    }
    for (key, info) in changed {
        cx.put(Table::SnapshotInfoTable, key, &info);
    }
    Ok(())
}
