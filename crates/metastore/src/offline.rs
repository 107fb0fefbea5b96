//! Access to any database by its path: for tools that inspect or repair it while its server is
//! stopped. Tables are found by name, independent of the program that created them.

use std::path::Path;

use rust_rocksdb::checkpoint::Checkpoint;
use rust_rocksdb::{
    Cache, ColumnFamily, ColumnFamilyDescriptor, CompactOptions, DB, FlushOptions, Options,
    ReadOptions, WriteBatch, WriteOptions,
};

use crate::open::table_options;
use crate::{Cursor, Error, IterRange, Preset, Result, StoreOptions};

/// A database that a tool has open.
pub struct OfflineStore {
    db: DB,
    tables: Vec<String>,
}

/// A change of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfflineChange {
    /// Sets the value of a row.
    Put {
        /// The table.
        table: String,
        /// Its key.
        key: Vec<u8>,
        /// Its value.
        value: Vec<u8>,
    },
    /// Deletes a row.
    Delete {
        /// The table.
        table: String,
        /// Its key.
        key: Vec<u8>,
    },
}

impl OfflineStore {
    /// Opens a database read-only, also while a server has it open: rows that the server has not
    /// flushed or logged yet are not visible. Nothing is written.
    ///
    /// # Errors
    /// If it does not exist, or is damaged.
    pub fn open_read_only(path: &Path) -> Result<Self> {
        let failed = |e: rust_rocksdb::Error| open_failed(path, e);
        let options = database_options();
        let tables = DB::list_cf(&options, path).map_err(failed)?;
        let db = DB::open_cf_descriptors_read_only(&options, path, descriptors(&tables)?, false)
            .map_err(failed)?;
        Ok(Self { db, tables })
    }

    /// Opens a database for writing.
    ///
    /// # Errors
    /// If it does not exist, a server has it open, or it is damaged.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |e: rust_rocksdb::Error| open_failed(path, e);
        let options = database_options();
        let tables = DB::list_cf(&options, path).map_err(failed)?;
        let db = DB::open_cf_descriptors(&options, path, descriptors(&tables)?).map_err(failed)?;
        Ok(Self { db, tables })
    }

    /// Names of its tables, in the order of their creation.
    pub fn tables(&self) -> &[String] {
        &self.tables
    }

    fn family(&self, table: &str) -> Result<&ColumnFamily> {
        self.db.cf_handle(table).ok_or_else(|| Error::NoSuchTable(table.to_owned()))
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// If there is no such table, or the read fails.
    pub fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.db.get_cf(self.family(table)?, key).map_err(|e| Error::of("get", e))
    }

    /// Rows of `range`, in key order.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn iter(&self, table: &str, range: IterRange) -> Result<Cursor<'_>> {
        let options: ReadOptions = range.read_options();
        Ok(Cursor::new(self.db.raw_iterator_cf_opt(self.family(table)?, options), None))
    }

    /// The sequence number of the last change.
    pub fn sequence(&self) -> u64 {
        self.db.latest_sequence_number()
    }

    /// Approximate number of rows of a table.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn estimated_rows(&self, table: &str) -> Result<u64> {
        let name = "rocksdb.estimate-num-keys";
        let rows = self.db.property_int_value_cf(self.family(table)?, name);
        Ok(rows.map_err(|e| Error::of("estimate rows", e))?.unwrap_or(0))
    }

    /// Writes a copy of the database to `path`, which must not exist.
    ///
    /// # Errors
    /// If the copy cannot be written.
    pub fn checkpoint(&self, path: &Path) -> Result<()> {
        // This process has no unlogged rows, so no flush is necessary, which a read-only database
        // does not allow.
        Checkpoint::new(&self.db)
            .and_then(|c| c.create_checkpoint_with_log_size(path, u64::MAX))
            .map_err(|e| Error::of("checkpoint", e))
    }

    /// Applies changes atomically and durably.
    ///
    /// # Errors
    /// If a table does not exist, or they cannot be written: then none is applied.
    pub fn write(&self, changes: &[OfflineChange]) -> Result<()> {
        let mut batch = WriteBatch::default();
        for change in changes {
            match change {
                OfflineChange::Put { table, key, value } => {
                    batch.put_cf(self.family(table)?, key, value);
                }
                OfflineChange::Delete { table, key } => batch.delete_cf(self.family(table)?, key),
            }
        }
        let mut options = WriteOptions::default();
        options.set_sync(true);
        self.db.write_opt(&batch, &options).map_err(|e| Error::of("write", e))
    }

    /// Compacts each level of a table, which drops deleted rows.
    ///
    /// # Errors
    /// If there is no such table, or the flush before it fails. RocksDB does not report a failed
    /// compaction: a later read of the table does.
    pub fn compact(&self, table: &str) -> Result<()> {
        let family = self.family(table)?;
        let mut flush = FlushOptions::default();
        flush.set_wait(true);
        self.db.flush_cf_opt(family, &flush).map_err(|e| Error::of("flush", e))?;
        let mut options = CompactOptions::default();
        options.set_bottommost_level_compaction(
            rust_rocksdb::BottommostLevelCompaction::ForceOptimized,
        );
        self.db.compact_range_cf_opt(family, None::<&[u8]>, None::<&[u8]>, &options);
        Ok(())
    }
}

fn open_failed(path: &Path, e: rust_rocksdb::Error) -> Error {
    let mut reason = e.to_string();
    if reason.contains("Snappy not supported") {
        reason.push_str(" (cargo build --features snappy makes one that does)");
    }
    Error::Open { path: path.to_path_buf(), reason }
}

/// The options of servers, without those for performance.
fn database_options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(false);
    options.set_atomic_flush(true);
    options.set_max_open_files(512);
    options.set_keep_log_file_num(4);
    options
}

/// New files of tables are written as by servers, so that servers of both kinds can read them.
fn descriptors(tables: &[String]) -> Result<Vec<ColumnFamilyDescriptor>> {
    let options = StoreOptions { block_cache_bytes: 16 << 20, ..StoreOptions::default() };
    let cache = Cache::new_lru_cache(options.block_cache_bytes);
    let of = |name: &String| {
        Ok(ColumnFamilyDescriptor::new(name, table_options(Preset::Scan, &cache, &options)?))
    };
    tables.iter().map(of).collect()
}
