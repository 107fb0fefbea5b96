//! The tables at one moment, for readers that must see all rows as of then.

use std::ops::ControlFlow;

use bytes::Bytes;
use metastore::{IterRange, Snapshot};
use namespace::{Table, View, ViewError};

use super::Tables;
use super::tables::failed;
use crate::state::column_families::stored;

/// A view that does not change.
pub(crate) struct SnapshotView<'a>(Snapshot<'a>);

impl<'a> SnapshotView<'a> {
    /// The tables as they are now.
    pub(crate) fn of(tables: &'a Tables) -> Self {
        Self(tables.store().snapshot())
    }
}

impl View for SnapshotView<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ViewError> {
        let value = self.0.get(stored(table), key).map_err(|e| failed(table, e))?;
        Ok(value.map(|v| v.to_bytes()))
    }

    fn scan(
        &self,
        table: Table,
        start: &[u8],
        end: Option<&[u8]>,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), ViewError> {
        let mut range = IterRange::from(start);
        if let Some(end) = end {
            if end <= start {
                return Ok(());
            }
            range = range.until(end);
        }
        let mut cursor = self.0.iter(stored(table), range).map_err(|e| failed(table, e))?;
        cursor.first();
        cursor.for_each(|key, value| each(key, value).is_continue()).map_err(|e| failed(table, e))
    }
}
