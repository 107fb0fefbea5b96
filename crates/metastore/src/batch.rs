//! Changes that become visible together.

use rust_rocksdb::{WriteBatch, WriteOptions};

use crate::{Result, Store, Table};

/// How durable a write is when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// In memory until the next flush. For replicated state, whose log is elsewhere.
    NoWal,
    /// In the operating system: survives the process, not the machine.
    Wal,
    /// On the disk.
    Sync,
}

enum Change {
    Put(Table, Vec<u8>, Vec<u8>),
    Delete(Table, Vec<u8>),
    DeleteRange(Table, Vec<u8>, Vec<u8>),
}

/// Changes to apply at once, in the order given.
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

    /// Removes `key`, if there.
    pub fn delete(&mut self, table: Table, key: impl Into<Vec<u8>>) {
        let key = key.into();
        self.bytes += key.len();
        self.changes.push(Change::Delete(table, key));
    }

    /// Removes every key from `start` up to, not including, `end`.
    pub fn delete_range(
        &mut self,
        table: Table,
        start: impl Into<Vec<u8>>,
        end: impl Into<Vec<u8>>,
    ) {
        self.changes.push(Change::DeleteRange(table, start.into(), end.into()));
    }

    /// As [`Batch::delete_range`], before everything else in the batch: what the batch puts into
    /// the range stays.
    pub fn delete_range_first(
        &mut self,
        table: Table,
        start: impl Into<Vec<u8>>,
        end: impl Into<Vec<u8>>,
    ) {
        self.changes.insert(0, Change::DeleteRange(table, start.into(), end.into()));
    }

    /// Whether there is nothing to apply.
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

    /// The changes in RocksDB's own form, as its log has them, less those of `except`; and how many
    /// they are. For a database with the same tables, under the same numbers.
    ///
    /// # Errors
    /// When the batch names an unknown table.
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

    /// The batch as RocksDB takes it, and the keys that it puts.
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
