//! An open database: point reads, writes, snapshots, maintenance.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use blockio::file_system_space;
use bytes::Bytes;
use rust_rocksdb::checkpoint::Checkpoint;
use rust_rocksdb::{
    Cache, ColumnFamily, DB, DBPinnableSlice, ErrorKind, FlushOptions, ReadOptions, ReadTier,
};

use crate::compaction_jobs::Jobs;
use crate::cursor::{Over, Searching};
use crate::file_properties::PropertiesByTable;
use crate::gaps::{Gaps, SnapshotMark, Wall};
use crate::{Closing, Cursor, Error, IterRange, Result};

/// Free disk space in bytes required to resume a database that had run out of space.
const ROOM_BYTES: u64 = 4 << 20;

pub(crate) struct Inner {
    pub(crate) db: DB,
    pub(crate) gaps: Gaps,
    /// Statistics in table files, by table and name; they never change.
    pub(crate) file_properties: parking_lot::Mutex<PropertiesByTable>,
    /// Statistics of compactions, and their errors.
    pub(crate) jobs: Arc<Jobs>,
    /// Tombstones that a cursor of a snapshot steps over before it records the range.
    pub(crate) skip_limit: u64,
    pub(crate) cache: Cache,
    pub(crate) path: PathBuf,
    /// The first failed write or flush, unless the disk was full.
    pub(crate) failed: OnceLock<Error>,
    /// Observed by [`Closing`]. Dropped last, after the database.
    pub(crate) open: Arc<()>,
}

/// An open database. Clones share it; dropping the last one closes it.
#[derive(Clone)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
}

/// A table of a [`Store`], by name. Cheap to copy; only valid with the store that created it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Table {
    pub(crate) name: &'static str,
}

impl Table {
    /// The table of that name. [`Store::table`] also checks that it exists.
    pub const fn named(name: &'static str) -> Self {
        Self { name }
    }

    /// Column family name.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// A value in the store's cache; borrow it, or copy it out with [`PinnedValue::to_bytes`].
pub struct PinnedValue<'a>(DBPinnableSlice<'a>);

impl Deref for PinnedValue<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl PinnedValue<'_> {
    /// The value, copied.
    pub fn to_bytes(&self) -> Bytes {
        Bytes::copy_from_slice(&self.0)
    }
}

/// Result of a lookup that does not read the disk.
pub enum Cached<'a> {
    /// Its value.
    Value(PinnedValue<'a>),
    /// The key does not exist.
    Absent,
    /// Unknown without reading the disk.
    Unknown,
}

/// Size and resource use of the database.
#[derive(Debug, Clone, Copy, Default)]
pub struct StoreMetrics {
    /// Bytes of blocks, indexes and filters in the cache.
    pub block_cache_bytes: u64,
    /// Bytes of unflushed writes.
    pub memtable_bytes: u64,
    /// Bytes of table files on disk.
    pub sst_bytes: u64,
    /// Bytes that compactions have yet to rewrite.
    pub pending_compaction_bytes: u64,
    /// Writes are stalled.
    pub write_stopped: bool,
    /// Bytes that compactions have read.
    pub compaction_read_bytes: u64,
    /// Bytes that compactions have written.
    pub compaction_written_bytes: u64,
    /// Compactions that failed.
    pub failed_compactions: u64,
    /// Key ranges of tombstones that cursors skip.
    pub gaps: usize,
}

impl Store {
    /// A table of this database.
    ///
    /// # Errors
    /// If the database has no table of that name.
    pub fn table(&self, name: &'static str) -> Result<Table> {
        self.family(name).map(|_| Table { name })
    }

    /// Directory of the database.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Detects when the last clone of this store, and all its borrowers, are dropped.
    pub fn closing(&self) -> Closing {
        Closing::new(Arc::downgrade(&self.inner.open))
    }

    pub(crate) fn family(&self, name: &str) -> Result<&ColumnFamily> {
        self.inner.db.cf_handle(name).ok_or_else(|| Error::NoSuchTable(name.to_owned()))
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// If the read fails or the data is damaged.
    pub fn get(&self, table: Table, key: &[u8]) -> Result<Option<PinnedValue<'_>>> {
        let family = self.family(table.name)?;
        let value = self.inner.db.get_pinned_cf(family, key).map_err(|e| Error::of("get", e))?;
        Ok(value.map(PinnedValue))
    }

    /// As [`Store::get`], if that requires no disk read.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn get_cached(&self, table: Table, key: &[u8]) -> Result<Cached<'_>> {
        let family = self.family(table.name)?;
        let mut options = ReadOptions::default();
        options.set_read_tier(ReadTier::BlockCache);
        match self.inner.db.get_pinned_cf_opt(family, key, &options) {
            Ok(Some(value)) => Ok(Cached::Value(PinnedValue(value))),
            Ok(None) => Ok(Cached::Absent),
            Err(error) if error.kind() == ErrorKind::Incomplete => Ok(Cached::Unknown),
            Err(error) => Err(Error::of("get", error)),
        }
    }

    /// Returns `true` if `key` has a value.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn contains(&self, table: Table, key: &[u8]) -> Result<bool> {
        Ok(self.get(table, key)?.is_some())
    }

    /// The values of several keys of one table, in their order.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn multi_get(&self, table: Table, keys: &[&[u8]]) -> Result<Vec<Option<PinnedValue<'_>>>> {
        let family = self.family(table.name)?;
        self.inner
            .db
            .batched_multi_get_cf(family, keys.iter().copied(), false)
            .into_iter()
            .map(|r| r.map(|v| v.map(PinnedValue)).map_err(|e| Error::of("multi get", e)))
            .collect()
    }

    /// Current rows of `range`, in key order.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn iter(&self, table: Table, range: IterRange) -> Result<Cursor<'_>> {
        let family = self.family(table.name)?;
        // The iterator sees this state or a newer one.
        let sequence = self.inner.db.latest_sequence_number();
        let raw = self.inner.db.raw_iterator_cf_opt(family, range.read_options());
        let over = (!range.is_bounded()).then_some(Over {
            gaps: &self.inner.gaps,
            table: table.name,
            sequence,
            range,
            search: None,
            ahead: None,
        });
        Ok(Cursor::new(raw, over))
    }

    /// A snapshot view of the whole database.
    pub fn snapshot(&self) -> Snapshot<'_> {
        let mark = self.inner.gaps.before_snapshot();
        let inner = self.inner.db.snapshot();
        let sequence = inner.sequence_number().unwrap_or_default();
        Snapshot { store: self, inner, mark, sequence }
    }

    /// Returns `true` if [`Store::look_for_gaps`] has work.
    pub fn has_new_tombstones(&self) -> bool {
        self.inner.gaps.has_deleted()
    }

    /// Steps through new tombstones, so that requests can skip them. To be called often while rows
    /// are deleted; returns the number of positions examined.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn look_for_gaps(&self) -> Result<usize> {
        let mut deleted = self.inner.gaps.take_deleted();
        deleted.sort_unstable();
        let snapshot = self.snapshot();
        for (table, key) in &deleted {
            let range = IterRange::from(key.as_slice());
            let mut cursor = snapshot.iter(Table { name: table }, range)?;
            cursor.first();
            cursor.row()?;
        }
        Ok(deleted.len())
    }

    /// The key ranges of tombstones that cursors met since the last call.
    pub fn take_walls(&self) -> Vec<Wall> {
        self.inner.gaps.take_walls()
    }

    /// The reason of the database's failure, if any. A failed write or flush is final: the state on
    /// disk is unknown, and a later success proves nothing. Reads continue.
    pub fn failure(&self) -> Option<Error> {
        self.inner.failed.get().cloned()
    }

    /// Rejects an operation of a failed database.
    pub(crate) fn check(&self, operation: &'static str) -> Result<()> {
        match self.inner.failed.get() {
            None => Ok(()),
            Some(first) => Err(Error::Broken { operation, reason: first.to_string() }),
        }
    }

    /// Fails the database with this error, unless the disk was full or the batch was invalid.
    pub(crate) fn fail(&self, operation: &'static str, error: rust_rocksdb::Error) -> Error {
        let refused = error.kind() == rust_rocksdb::ErrorKind::InvalidArgument;
        let error = Error::of(operation, error);
        if !refused && !matches!(error, Error::NoSpace { .. }) {
            // The first error is kept.
            let _ = self.inner.failed.set(error.clone());
        }
        error
    }

    /// Makes everything written so far durable, over all tables at once.
    ///
    /// # Errors
    /// If the files cannot be written, or could not be earlier.
    pub fn flush(&self) -> Result<()> {
        self.check("flush")?;
        let mut options = FlushOptions::default();
        options.set_wait(true);
        let names = self.inner.db.cf_names();
        let families: Vec<&ColumnFamily> =
            names.iter().filter_map(|n| self.inner.db.cf_handle(n)).collect();
        self.inner.db.flush_cfs_opt(&families, &options).map_err(|e| self.fail("flush", e))?;
        // A concurrent failed flush may have been of the same rows.
        self.check("flush")
    }

    /// Resumes a database that rejects writes since a flush failed on a full disk. RocksDB resumes
    /// by itself some seconds after space is available, and is not disturbed in the meantime.
    ///
    /// # Errors
    /// If there is still too little space, or a write or flush failed for another reason.
    pub fn resume(&self) -> Result<()> {
        let operation = "resume";
        self.check(operation)?;
        let space = file_system_space(&self.inner.path)
            .map_err(|e| Error::Failed { operation, reason: e.to_string() })?;
        if space.available < ROOM_BYTES {
            let reason = format!("{} bytes are free", space.available);
            return Err(Error::NoSpace { operation, reason });
        }
        self.inner.db.resume().map_err(|error| match error.kind() {
            ErrorKind::Busy => Error::NoSpace { operation, reason: error.to_string() },
            _ => self.fail(operation, error),
        })
    }

    /// Makes the write-ahead log durable, after writes with
    /// [`Durability::Wal`](crate::Durability::Wal).
    ///
    /// # Errors
    /// If the log cannot be synced, or a write failed earlier.
    pub fn sync_wal(&self) -> Result<()> {
        self.check("sync log")?;
        self.inner.db.flush_wal(true).map_err(|e| self.fail("sync log", e))
    }

    /// Writes a consistent copy of the database to `path`, which must not exist. Files are
    /// hard-linked where the file system allows.
    ///
    /// # Errors
    /// If the copy cannot be written.
    pub fn checkpoint(&self, path: &Path) -> Result<()> {
        Checkpoint::new(&self.inner.db)
            .and_then(|c| c.create_checkpoint(path))
            .map_err(|e| Error::of("checkpoint", e))
    }

    /// Approximate number of rows of a table.
    pub fn estimated_rows(&self, table: Table) -> u64 {
        self.number(table.name, "rocksdb.estimate-num-keys")
    }

    pub(crate) fn number(&self, family: &str, property: &str) -> u64 {
        self.inner
            .db
            .cf_handle(family)
            .and_then(|f| self.inner.db.property_int_value_cf(f, property).ok().flatten())
            .unwrap_or(0)
    }

    /// Size and resource use of the database, for metrics.
    pub fn metrics(&self) -> StoreMetrics {
        let names = self.inner.db.cf_names();
        let sum = |property: &str| names.iter().map(|n| self.number(n, property)).sum();
        StoreMetrics {
            block_cache_bytes: self.inner.cache.get_usage() as u64,
            memtable_bytes: sum("rocksdb.cur-size-all-mem-tables"),
            sst_bytes: sum("rocksdb.total-sst-files-size"),
            pending_compaction_bytes: sum("rocksdb.estimate-pending-compaction-bytes"),
            write_stopped: names.iter().any(|n| self.number(n, "rocksdb.is-write-stopped") > 0),
            compaction_read_bytes: self.inner.jobs.read_bytes(),
            compaction_written_bytes: self.inner.jobs.written_bytes(),
            failed_compactions: self.inner.jobs.failures(),
            gaps: self.inner.gaps.count(),
        }
    }
}

/// A snapshot view of a [`Store`].
pub struct Snapshot<'a> {
    store: &'a Store,
    inner: rust_rocksdb::Snapshot<'a>,
    mark: SnapshotMark,
    sequence: u64,
}

impl Snapshot<'_> {
    /// The value of `key` when the snapshot was taken.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn get(&self, table: Table, key: &[u8]) -> Result<Option<PinnedValue<'_>>> {
        let family = self.store.family(table.name)?;
        let value = self.inner.get_pinned_cf(family, key).map_err(|e| Error::of("get", e))?;
        Ok(value.map(PinnedValue))
    }

    /// Rows of `range` when the snapshot was taken.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn iter(&self, table: Table, range: IterRange) -> Result<Cursor<'_>> {
        let family = self.store.family(table.name)?;
        let mut options = range.read_options();
        if !range.is_bounded() {
            options.set_max_skippable_internal_keys(self.store.inner.skip_limit);
        }
        let raw = self.inner.raw_iterator_cf_opt(family, options);
        let over = (!range.is_bounded()).then_some(Over {
            gaps: &self.store.inner.gaps,
            table: table.name,
            sequence: self.sequence,
            range,
            search: Some(Searching {
                db: &self.store.inner.db,
                family,
                snapshot: &self.inner,
                mark: self.mark,
            }),
            ahead: None,
        });
        Ok(Cursor::new(raw, over))
    }
}
