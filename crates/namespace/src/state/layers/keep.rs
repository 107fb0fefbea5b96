//! Keeps the previous row of a change for the bucket's snapshots.

use std::ops::ControlFlow;

use bytes::Bytes;

use super::rows;
use crate::error::ViewError;
use crate::state::effect::Effect;
use crate::state::view::View;
use crate::tables::Table;

/// Adds to the effects of an entry the rows that they change, as they were, where the newest
/// snapshot of their bucket does not have them yet.
///
/// # Errors
/// When the store fails.
pub(crate) fn keep(view: &dyn View, effects: &mut Vec<Effect>) -> Result<(), ViewError> {
    let chains = view.snapshots()?;
    if chains.is_empty() {
        return Ok(());
    }
    let mut kept = Vec::new();
    for effect in effects.iter() {
        let (table, key) = (effect.table(), effect.key());
        let (Some(tag), Some(scope)) = (rows::tag(table), rows::scope_of(table, key)) else {
            continue;
        };
        let Some(newest) = chains.newest_active(&scope) else { continue };
        if has_from(view, tag, key, newest.index)? {
            continue;
        }
        let old = view.get(table, key)?;
        let new = match effect {
            Effect::Put { value, .. } => Some(value),
            Effect::PutBucket { .. } | Effect::Delete { .. } => None,
        };
        if old.as_ref() == new {
            continue;
        }
        kept.extend(layer_row(newest.index, tag, key, rows::row_value(old.as_ref())));
    }
    effects.extend(kept);
    Ok(())
}

/// Returns `true` if a layer from `index` on has an entry for a row.
pub(crate) fn has_from(
    view: &dyn View,
    tag: u8,
    key: &[u8],
    index: u64,
) -> Result<bool, ViewError> {
    has_between(view, &rows::row_key(tag, key, index), &rows::row_end(tag, key))
}

/// Returns `true` if there is a row of layers between two keys.
pub(crate) fn has_between(view: &dyn View, from: &[u8], to: &[u8]) -> Result<bool, ViewError> {
    let mut found = false;
    view.scan(Table::SnapshotRowTable, from, Some(to), &mut |_, _| {
        found = true;
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// The rows that a layer has something of a row by.
pub(crate) fn layer_row(index: u64, tag: u8, key: &[u8], value: Bytes) -> [Effect; 2] {
    let row = rows::row_key(tag, key, index);
    let change = rows::change_key(index, tag, key);
    [
        Effect::Put { table: Table::SnapshotRowTable, key: row, value },
        Effect::Put { table: Table::SnapshotChangeTable, key: change, value: Bytes::new() },
    ]
}
