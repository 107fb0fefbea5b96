//! Atomic batches of changes.

use rust_rocksdb::{WriteBatch, WriteOptions};

use crate::{Result, Store, Table};

/// Durability of a write on return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// In memory until the next flush. For replicated state, whose log is elsewhere.
    NoWal,
    /// In the operating system: survives a killed process, but not a power loss.
    Wal,
    /// On the disk.
    Sync,
}

enum Change {
    Put(Table, Vec<u8>, Vec<u8>),
    Delete(Table, Vec<u8>),
    DeleteRange(Table, Vec<u8>, Vec<u8>),
}

/// Changes to apply atomically, in the given order.
#[derive(Default)]
pub struct Batch {
    changes: Vec<Change>,
    bytes: usize,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `key` to `value`.
    pub fn put(&mut self, table: Table, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        let (key, value) = (key.into(), value.into());
        self.bytes += key.len() + value.len();
        self.changes.push(Change::Put(table, key, value));
    }

    /// Deletes `key`, if it exists.
    pub fn delete(&mut self, table: Table, key: impl Into<Vec<u8>>) {
        let key = key.into();
        self.bytes += key.len();
        self.changes.push(Change::Delete(table, key));
    }

    /// Deletes every key from `start` up to, not including, `end`.
    pub fn delete_range(
        &mut self,
        table: Table,
        start: impl Into<Vec<u8>>,
        end: impl Into<Vec<u8>>,
    ) {
        self.changes.push(Change::DeleteRange(table, start.into(), end.into()));
    }

    /// As [`Batch::delete_range`], before everything else in the batch: keys that the batch puts
    /// into the range stay.
    pub fn delete_range_first(
        &mut self,
        table: Table,
        start: impl Into<Vec<u8>>,
        end: impl Into<Vec<u8>>,
    ) {
        self.changes.insert(0, Change::DeleteRange(table, start.into(), end.into()));
    }

    /// Returns `true` if the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Bytes of keys and values.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Encodes the changes in RocksDB's format, as in its log, without those of `except`; also
    /// returns their number. For a database with the same tables, under the same numbers.
    ///
    /// # Errors
    /// If the batch names an unknown table.
    pub fn encode(&self, store: &Store, except: &[Table]) -> Result<(Vec<u8>, u64)> {
        let mut raw = WriteBatch::with_capacity_bytes(self.bytes + 16 * self.changes.len());
        for change in &self.changes {
            match change {
                Change::Put(t, ..) | Change::Delete(t, _) | Change::DeleteRange(t, ..)
                    if except.contains(t) => {}
                Change::Put(t, k, v) => raw.put_cf(store.family(t.name)?, k, v),
                Change::Delete(t, k) => raw.delete_cf(store.family(t.name)?, k),
                Change::DeleteRange(t, a, b) => raw.delete_range_cf(store.family(t.name)?, a, b),
            }
        }
        Ok((raw.data().to_vec(), raw.len() as u64))
    }

    /// The batch in RocksDB's type, and the keys that it puts.
    fn into_raw(self, store: &Store) -> Result<(WriteBatch, Vec<(&'static str, Vec<u8>)>)> {
        let mut raw = WriteBatch::with_capacity_bytes(self.bytes + 16 * self.changes.len());
        let mut puts = Vec::with_capacity(self.changes.len());
        for change in self.changes {
            match change {
                Change::Put(t, k, v) => {
                    raw.put_cf(store.family(t.name)?, &k, v);
                    puts.push((t.name, k));
                }
                Change::Delete(t, k) => {
                    raw.delete_cf(store.family(t.name)?, &k);
                    if store.inner.gaps.wants_deleted() {
                        store.inner.gaps.note_deleted(t.name, k);
                    }
                }
                Change::DeleteRange(t, a, b) => raw.delete_range_cf(store.family(t.name)?, a, b),
            }
        }
        Ok((raw, puts))
    }
}

impl Store {
    /// Applies a batch.
    ///
    /// # Errors
    /// When the batch names an unknown table, the write fails, or one failed earlier; then none of
    /// it is visible.
    pub fn write(&self, batch: Batch, durability: Durability) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let (raw, puts) = batch.into_raw(self)?;
        self.check("write")?;
        let mut options = WriteOptions::default();
        match durability {
            Durability::NoWal => options.disable_wal(true),
            Durability::Wal => {}
            Durability::Sync => options.set_sync(true),
        }
        let mark = self.inner.gaps.begin_write(puts);
        let written = self.inner.db.write_opt(&raw, &options);
        self.inner.gaps.end_write(mark);
        written.map_err(|e| self.fail("write", e))
    }
}
