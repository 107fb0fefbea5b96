//! A view with the effects of a round laid over it.
//!
//! The commands of one round of the log are applied one after the other and written to the store
//! in one batch; each must see the changes of earlier ones.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use bytes::Bytes;
use proto::ozone::DirectoryInfo;
use rustc_hash::FxHashMap;

use crate::error::ViewError;
use crate::state::chain::Chains;
use crate::state::effect::Effect;
use crate::state::row::Bucket;
use crate::state::view::View;
use crate::tables::Table;

/// Change of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum RowChange {
    /// It has this value.
    Put(Bytes),
    /// It is this bucket.
    PutBucket(Bucket),
    /// The row was deleted.
    Deleted,
}

impl RowChange {
    /// The row's new value, encoded; `None` if it was deleted.
    pub fn value(&self) -> Option<Bytes> {
        match self {
            Self::Put(value) => Some(value.clone()),
            Self::PutBucket(bucket) => Some(bucket.encode()),
            Self::Deleted => None,
        }
    }
}

/// Effects over a base view.
pub struct Overlay<V> {
    base: V,
    rows: [FxHashMap<Vec<u8>, RowChange>; Table::ALL.len()],
    /// Buckets of the base that were read, decoded once.
    buckets: RefCell<FxHashMap<Vec<u8>, Option<Bucket>>>,
    /// The snapshots of all buckets, after their first read.
    snapshots: RefCell<Option<Arc<Chains>>>,
}

impl<V: View> Overlay<V> {
    /// Nothing over `base` yet.
    pub fn new(base: V) -> Self {
        Self {
            base,
            rows: std::array::from_fn(|_| FxHashMap::default()),
            buckets: RefCell::default(),
            snapshots: RefCell::default(),
        }
    }

    /// Lays the effects of one command over the existing rows.
    pub fn absorb(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let (table, key, change) = match effect {
                Effect::Put { table, key, value } => (table, key, RowChange::Put(value)),
                Effect::PutBucket { key, bucket } => {
                    (Table::BucketTable, key, RowChange::PutBucket(bucket))
                }
                Effect::Delete { table, key } => (table, key, RowChange::Deleted),
            };
            if table == Table::SnapshotTable {
                self.snapshots.get_mut().take();
            }
            self.rows[table as usize].insert(key, change);
        }
    }

    /// Rows changed so far.
    pub fn len(&self) -> usize {
        self.rows.iter().map(FxHashMap::len).fold(0, usize::saturating_add)
    }

    /// Returns `true` if nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(FxHashMap::is_empty)
    }

    /// Takes all changes out, leaving the bare base; each row once, in no particular order.
    /// The order does not matter to a batch, since the rows are distinct.
    pub fn drain_changes(&mut self) -> impl Iterator<Item = (Table, Vec<u8>, RowChange)> + use<V> {
        self.buckets.borrow_mut().clear();
        self.snapshots.get_mut().take();
        let rows = std::mem::replace(&mut self.rows, std::array::from_fn(|_| FxHashMap::default()));
        Table::ALL
            .into_iter()
            .zip(rows)
            .flat_map(|(table, rows)| rows.into_iter().map(move |(key, row)| (table, key, row)))
    }
}

impl<V: View> View for Overlay<V> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ViewError> {
        match self.rows[table as usize].get(key) {
            Some(change) => Ok(change.value()),
            None => self.base.get(table, key),
        }
    }

    fn exists(&self, table: Table, key: &[u8]) -> Result<bool, ViewError> {
        match self.rows[table as usize].get(key) {
            Some(change) => Ok(!matches!(change, RowChange::Deleted)),
            None => self.base.exists(table, key),
        }
    }

    fn bucket(&self, bucket_key: &[u8]) -> Result<Option<Bucket>, ViewError> {
        match self.rows[Table::BucketTable as usize].get(bucket_key) {
            Some(RowChange::PutBucket(bucket)) => return Ok(Some(bucket.clone())),
            Some(RowChange::Deleted) => return Ok(None),
            Some(RowChange::Put(value)) => {
                let info =
                    crate::state::row::decode(Table::BucketTable, bucket_key, value.clone())?;
                return Ok(Some(Bucket::new(info)));
            }
            None => {}
        }
        if let Some(known) = self.buckets.borrow().get(bucket_key) {
            return Ok(known.clone());
        }
        let found = self.base.bucket(bucket_key)?;
        self.buckets.borrow_mut().insert(bucket_key.to_vec(), found.clone());
        Ok(found)
    }

    fn directory(&self, row: &[u8]) -> Result<Option<Arc<DirectoryInfo>>, ViewError> {
        match self.rows[Table::DirectoryTable as usize].get(row) {
            Some(change) => match change.value() {
                Some(value) => Ok(Some(Arc::new(crate::state::row::decode(
                    Table::DirectoryTable,
                    row,
                    value,
                )?))),
                None => Ok(None),
            },
            None => self.base.directory(row),
        }
    }

    fn snapshots(&self) -> Result<Arc<Chains>, ViewError> {
        if let Some(known) = &*self.snapshots.borrow() {
            return Ok(Arc::clone(known));
        }
        let mut found = self.base.snapshots()?;
        let changes = &self.rows[Table::SnapshotTable as usize];
        if !changes.is_empty() {
            let chains = Arc::make_mut(&mut found);
            for (key, change) in changes {
                chains.change(key, change.value().as_deref());
            }
        }
        *self.snapshots.borrow_mut() = Some(Arc::clone(&found));
        Ok(found)
    }

    fn scan(
        &self,
        table: Table,
        start: &[u8],
        end: Option<&[u8]>,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), ViewError> {
        let within = |key: &[u8]| key >= start && end.is_none_or(|end| key < end);
        // Scans while applying are rare (deleting a bucket, completing an upload), so the
        // changes are kept for lookups and sorted here.
        let changes: BTreeMap<&[u8], &RowChange> = self.rows[table as usize]
            .iter()
            .filter(|(key, _)| within(key))
            .map(|(key, change)| (key.as_slice(), change))
            .collect();
        if changes.is_empty() {
            return self.base.scan(table, start, end, each);
        }
        let mut next = changes.iter().peekable();
        let mut stopped = false;
        self.base.scan(table, start, end, &mut |key, value| {
            while let Some((changed, change)) = next.next_if(|(changed, _)| **changed < key) {
                if let Some(value) = change.value()
                    && each(changed, &value).is_break()
                {
                    stopped = true;
                    return ControlFlow::Break(());
                }
            }
            if changes.contains_key(key) {
                // The loop above or below reports it with its new value.
                return ControlFlow::Continue(());
            }
            let flow = each(key, value);
            stopped = flow.is_break();
            flow
        })?;
        if stopped {
            return Ok(());
        }
        for (changed, change) in next {
            if let Some(value) = change.value()
                && each(changed, &value).is_break()
            {
                break;
            }
        }
        Ok(())
    }
}

/// An overlay over nothing but itself: rows in memory. Tests and tools run the rules on it.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct MemoryTables {
    rows: BTreeMap<(Table, Vec<u8>), Bytes>,
}

impl MemoryTables {
    /// Carries out one effect.
    pub fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Put { table, key, value } => {
                self.rows.insert((table, key), value);
            }
            Effect::PutBucket { key, bucket } => {
                self.rows.insert((Table::BucketTable, key), bucket.encode());
            }
            Effect::Delete { table, key } => {
                self.rows.remove(&(table, key));
            }
        }
    }
}

impl View for MemoryTables {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ViewError> {
        Ok(self.rows.get(&(table, key.to_vec())).cloned())
    }

    fn scan(
        &self,
        table: Table,
        start: &[u8],
        end: Option<&[u8]>,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), ViewError> {
        if end.is_some_and(|end| end <= start) {
            return Ok(());
        }
        let from = Bound::Included((table, start.to_vec()));
        let rows = self.rows.range((from, Bound::Unbounded));
        for ((_, key), value) in rows.take_while(|((t, _), _)| *t == table) {
            if end.is_some_and(|end| key.as_slice() >= end) || each(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }
}
