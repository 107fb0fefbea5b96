//! Opening a database: table layouts and memory limits.

use std::path::Path;
use std::sync::Arc;

use blockio::durable::{read_from_device, sync_names_above};
use rust_rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, DBCompactionStyle,
    DBCompressionType, DataBlockIndexType, Options,
};

use crate::compaction::end_files_with_buckets;
use crate::compaction_jobs::{Jobs, Listener};
use crate::file_properties::collect_deletions;
use crate::gaps::Gaps;
use crate::store::Inner;
use crate::{Error, Result, Store};

/// Size from which on a table of buckets has a level above its last one. Flushed files have rows of
/// all buckets: without such a level the compaction of a range would merge them into all files of
/// the last level. RocksDB's default is four times as much.
const BUCKETS_LEVEL_BASE: u64 = 64 << 20;

/// Size of a partition of an index or a filter.
const METADATA_BLOCK: usize = 16 << 10;

/// Layout of a table on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// Mostly point reads: 4 KiB blocks with a hash index.
    Point,
    /// Point reads and range scans: 8 KiB blocks.
    Scan,
    /// Rows are put and soon deleted: compacts itself if tombstones accumulate.
    Queue,
    /// Point reads of a small table, with some rows in each flush of the database: compacted as a
    /// whole. In levels the number of such files would equal that of flushes, because RocksDB moves
    /// files down unmerged if their rows follow all others.
    Small,
}

/// A table of the database.
#[derive(Debug, Clone, Copy)]
pub struct TableSpec {
    /// Column family name.
    pub name: &'static str,
    /// Layout.
    pub preset: Preset,
    /// Rows are in buckets: their keys begin with `/VOLUME/BUCKET/`, names or numbers.
    pub in_buckets: bool,
}

impl TableSpec {
    /// A table of that name and layout.
    pub const fn new(name: &'static str, preset: Preset) -> Self {
        Self { name, preset, in_buckets: false }
    }

    /// The same, with rows in buckets: files end at bucket boundaries, so that the compaction of
    /// one bucket rewrites little of others.
    pub const fn in_buckets(self) -> Self {
        Self { in_buckets: true, ..self }
    }
}

/// Memory and file limits of one database.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Bytes of cached blocks, indexes and filters.
    pub block_cache_bytes: usize,
    /// Bytes of unflushed writes over all tables.
    pub write_buffer_bytes: usize,
    /// Threads for flushes and compactions.
    pub background_threads: usize,
    /// Maximum number of open files, -1 for no limit.
    pub max_open_files: i32,
    /// Tombstones that a cursor of a snapshot steps over before it records the range, so that the
    /// next one skips it at once.
    pub skip_limit: u64,
    /// Table files record the positions of their tombstones.
    pub sample_deletions: bool,
    /// Trigger for the automatic compaction of files of a [`Preset::Queue`] with tombstones.
    pub deletion_trigger: Option<DeletionTrigger>,
    /// The same for tables of other presets. It rewrites the levels below each such file: explicit
    /// range compactions cost fewer bytes (docs/benchmarks.md).
    pub scan_deletion_trigger: Option<DeletionTrigger>,
}

/// RocksDB's CompactOnDeletionCollector: compacts a file with this many tombstones in a window of
/// rows, or this share among all its rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeletionTrigger {
    /// Rows of a window.
    pub window: usize,
    /// Tombstones in a window.
    pub trigger: usize,
    /// Share of tombstones in the whole file; 0 for none.
    pub ratio: f64,
}

impl Default for DeletionTrigger {
    /// Half of a thousand, measured to remove the tombstones of a deleted bucket.
    fn default() -> Self {
        Self { window: 1_000, trigger: 500, ratio: 0.5 }
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            block_cache_bytes: 64 << 20,
            write_buffer_bytes: 64 << 20,
            background_threads: 2,
            max_open_files: 512,
            skip_limit: 500,
            sample_deletions: true,
            deletion_trigger: Some(DeletionTrigger::default()),
            scan_deletion_trigger: None,
        }
    }
}

pub(crate) fn table_options(
    preset: Preset,
    cache: &Cache,
    options: &StoreOptions,
) -> Result<Options> {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(cache);
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
    blocks.set_bloom_filter(10.0, false);
    blocks.set_format_version(5);
    match preset {
        Preset::Point | Preset::Small => {
            blocks.set_block_size(4 << 10);
            blocks.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
        }
        Preset::Scan => blocks.set_block_size(8 << 10),
        Preset::Queue => blocks.set_block_size(16 << 10),
    }
    // Partitioned, because the cache is: the whole filter of a file with a million rows fits into
    // no shard, and would be read from the file for each lookup.
    blocks.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    blocks.set_partition_filters(true);
    blocks.set_metadata_block_size(METADATA_BLOCK);
    blocks.set_pin_top_level_index_and_filter(true);

    let mut cf = Options::default();
    cf.set_block_based_table_factory(&blocks);
    cf.set_compression_type(DBCompressionType::Lz4);
    match preset {
        Preset::Small => cf.set_compaction_style(DBCompactionStyle::Universal),
        _ => cf.set_level_compaction_dynamic_level_bytes(true),
    }
    // A table may use half of the database's buffer before it is flushed.
    cf.set_write_buffer_size((options.write_buffer_bytes / 2).max(1 << 20));
    cf.set_max_write_buffer_number(4);
    cf.set_memtable_whole_key_filtering(true);
    cf.set_memtable_prefix_bloom_ratio(0.02);
    let deletion_trigger = match preset {
        Preset::Queue => options.deletion_trigger,
        Preset::Point | Preset::Scan | Preset::Small => options.scan_deletion_trigger,
    };
    if let Some(DeletionTrigger { window, trigger, ratio }) = deletion_trigger {
        cf.add_compact_on_deletion_collector_factory(window, trigger, ratio);
    }
    if options.sample_deletions {
        collect_deletions(&mut cf)?;
    }
    Ok(cf)
}

/// Creates the directory of a database, and makes its name durable before it has contents.
fn make_directory(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(path)?;
    if path.join("CURRENT").exists() {
        return Ok(());
    }
    sync_names_above(path)
}

impl Store {
    /// Opens the database in `path`, creating it and missing tables.
    ///
    /// Tables that exist but are not in `tables` (created by a later release or another tool) are
    /// opened and left unchanged.
    ///
    /// # Errors
    /// If the directory cannot be created, is locked by another process, or contains a damaged
    /// database.
    pub fn open(path: &Path, tables: &[TableSpec], options: &StoreOptions) -> Result<Self> {
        let failed = |reason: String| Error::Open { path: path.to_path_buf(), reason };
        make_directory(path).map_err(|e| failed(e.to_string()))?;
        read_from_device(path).map_err(|e| failed(e.to_string()))?;

        let mut db_options = Options::default();
        db_options.create_if_missing(true);
        db_options.create_missing_column_families(true);
        db_options.set_atomic_flush(true);
        db_options.set_db_write_buffer_size(options.write_buffer_bytes);
        db_options.set_max_background_jobs(options.background_threads.max(2) as i32);
        db_options.set_max_open_files(options.max_open_files);
        db_options.set_bytes_per_sync(1 << 20);
        db_options.set_keep_log_file_num(4);
        db_options.set_max_log_file_size(16 << 20);
        db_options.set_stats_dump_period_sec(0);
        // Only small writes use the log at all; see the crate's invariants.
        db_options.set_max_total_wal_size(64 << 20);

        let jobs = Arc::new(Jobs::default());
        db_options.add_event_listener(Listener::of(&jobs));

        let existing = if path.join("CURRENT").exists() {
            DB::list_cf(&db_options, path).map_err(|e| failed(e.to_string()))?
        } else {
            Vec::new()
        };
        let cache = Cache::new_lru_cache(options.block_cache_bytes);
        let of = |name: &str, preset, in_buckets: bool| -> Result<ColumnFamilyDescriptor> {
            let mut family = table_options(preset, &cache, options)?;
            if in_buckets {
                end_files_with_buckets(&mut family)?;
                family.set_max_bytes_for_level_base(BUCKETS_LEVEL_BASE);
            }
            Ok(ColumnFamilyDescriptor::new(name, family))
        };
        let mut families: Vec<ColumnFamilyDescriptor> =
            tables.iter().map(|t| of(t.name, t.preset, t.in_buckets)).collect::<Result<_>>()?;
        let unknown = existing.iter().filter(|name| tables.iter().all(|t| t.name != *name));
        for name in unknown {
            families.push(of(name, Preset::Scan, false)?);
        }
        // RocksDB starts its threads here, and they inherit the background priority.
        let open = || DB::open_cf_descriptors(&db_options, path, families);
        let db = scheduling::made_in_background(open)
            .map_err(|e| failed(e.to_string()))?
            .map_err(|e| failed(e.to_string()))?;
        Ok(Self {
            inner: Arc::new(Inner {
                db,
                gaps: Gaps::default(),
                file_properties: parking_lot::Mutex::default(),
                jobs,
                skip_limit: options.skip_limit.max(1),
                cache,
                path: path.to_path_buf(),
                failed: std::sync::OnceLock::new(),
                open: Arc::default(),
            }),
        })
    }
}
