//! The tables as a snapshot shows them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use proto::ozone::DirectoryInfo;

use super::rows;
use crate::error::ViewError;
use crate::state::chain::Chains;
use crate::state::row::{self, Bucket};
use crate::state::view::{self, View};
use crate::tables::Table;

/// Rows of layers that are read ahead of a list: at first, and at most.
const CHUNK: (usize, usize) = (64, 4096);

/// Keys, files and directories as they were when the snapshot with this index was made; all other
/// tables as they are. `base` shows all rows as of one moment.
pub(crate) struct AsOf<V> {
    base: V,
    index: u64,
}

impl<V: View> AsOf<V> {
    pub fn new(base: V, index: u64) -> Self {
        Self { base, index }
    }

    /// The row in the layers; `None` if it is unchanged.
    fn kept(&self, tag: u8, key: &[u8]) -> Result<Option<Option<Bytes>>, ViewError> {
        let (from, to) = (rows::row_key(tag, key, self.index), rows::row_end(tag, key));
        let mut kept = Ok(None);
        self.base.scan(Table::SnapshotRowTable, &from, Some(&to), &mut |row, value| {
            kept = old(row, value).map(Some);
            ControlFlow::Break(())
        })?;
        kept
    }

    /// The layers' versions of the next rows from `start` on, and the row to continue from.
    fn chunk(
        &self,
        tag: u8,
        start: &[u8],
        end: Option<&[u8]>,
        most: usize,
    ) -> Result<(Kept, Option<Vec<u8>>), ViewError> {
        let from = rows::row_bound(tag, start);
        let to = end.map_or_else(|| vec![tag.saturating_add(1)], |end| rows::row_bound(tag, end));
        let (mut kept, mut next, mut failed) = (Kept::new(), None, None);
        self.base.scan(Table::SnapshotRowTable, &from, Some(&to), &mut |row, value| {
            let Some((key, index)) = rows::split_row_key(row) else {
                failed = Some(row::damaged(Table::SnapshotRowTable, row, &"not a layer's row"));
                return ControlFlow::Break(());
            };
            if index < self.index || kept.contains_key(&key) {
                return ControlFlow::Continue(());
            }
            if kept.len() >= most {
                next = Some(key);
                return ControlFlow::Break(());
            }
            match old(row, value) {
                Ok(old) => {
                    kept.insert(key, old);
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        failed.map_or(Ok((kept, next)), Err)
    }
}

/// Previous rows, or their absence.
type Kept = BTreeMap<Vec<u8>, Option<Bytes>>;

fn old(row: &[u8], value: &[u8]) -> Result<Option<Bytes>, ViewError> {
    match rows::split_row_value(value) {
        Some(old) => Ok(old.map(Bytes::copy_from_slice)),
        None => Err(row::damaged(Table::SnapshotRowTable, row, &"neither there nor not there")),
    }
}

impl<V: View> View for AsOf<V> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ViewError> {
        match rows::tag(table) {
            Some(tag) => match self.kept(tag, key)? {
                Some(old) => Ok(old),
                None => self.base.get(table, key),
            },
            None => self.base.get(table, key),
        }
    }

    fn scan(
        &self,
        table: Table,
        start: &[u8],
        end: Option<&[u8]>,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), ViewError> {
        let Some(tag) = rows::tag(table) else { return self.base.scan(table, start, end, each) };
        if end.is_some_and(|end| end <= start) {
            return Ok(());
        }
        let (mut start, mut most) = (start.to_vec(), CHUNK.0);
        loop {
            let (kept, next) = self.chunk(tag, &start, end, most)?;
            let until = next.as_deref().or(end);
            if merged(&self.base, table, &start, until, &kept, each)?.is_break() {
                return Ok(());
            }
            match next {
                Some(next) => start = next,
                None => return Ok(()),
            }
            most = most.saturating_mul(4).min(CHUNK.1);
        }
    }

    fn bucket(&self, bucket_key: &[u8]) -> Result<Option<Bucket>, ViewError> {
        self.base.bucket(bucket_key)
    }

    fn directory(&self, row: &[u8]) -> Result<Option<Arc<DirectoryInfo>>, ViewError> {
        // The cache of decoded rows has the current row only.
        Ok(view::get(self, Table::DirectoryTable, row)?.map(Arc::new))
    }

    fn snapshots(&self) -> Result<Arc<Chains>, ViewError> {
        self.base.snapshots()
    }
}

/// Rows of the store, replaced by those of `kept`.
fn merged(
    base: &impl View,
    table: Table,
    start: &[u8],
    end: Option<&[u8]>,
    kept: &Kept,
    each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, ViewError> {
    let mut next = kept.iter().peekable();
    let mut flow = ControlFlow::Continue(());
    base.scan(table, start, end, &mut |key, value| {
        while let Some((old_key, old)) = next.next_if(|(old_key, _)| old_key.as_slice() < key) {
            if let Some(old) = old {
                flow = each(old_key, old);
                if flow.is_break() {
                    return flow;
                }
            }
        }
        if !kept.contains_key(key) {
            flow = each(key, value);
        }
        flow
    })?;
    for (old_key, old) in next {
        if flow.is_break() {
            break;
        }
        if let Some(old) = old {
            flow = each(old_key, old);
        }
    }
    Ok(flow)
}
