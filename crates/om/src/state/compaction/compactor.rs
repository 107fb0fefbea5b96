//! The ranges of `om.db` that are to be compacted, and requests of administrators.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use metastore::Table as StoreTable;
use metastore::compaction::{Finished, Limits, PATIENCE, RangeCompactor};
use namespace::ViewError;
use proto::om_admin::RangeCompactionRunRequest;

use super::groups;
use crate::state::Tables;

/// File of the positions of scans, in OM's directory.
const PLACES: &str = "range-compaction.places";

/// Settings of the compaction of ranges.
#[derive(Debug, Clone)]
pub(crate) struct CompactionOptions {
    /// True if it runs by itself.
    pub(crate) enabled: bool,
    /// Interval of scans of the tables.
    pub(crate) interval: Duration,
    /// Conditions for the compaction of a range.
    pub(crate) limits: Limits,
}

/// Reason for which a requested compaction is not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotCompacted {
    /// There is no such table.
    #[error("table {0} does not exist or takes no deletions")]
    NoSuchTable(String),
    /// There is no such bucket, or the table is not ordered by buckets.
    #[error("table {table} has no range of bucket {volume}/{bucket}")]
    NoSuchBucket {
        /// The table.
        table: String,
        /// Volume of the bucket.
        volume: String,
        /// The bucket.
        bucket: String,
    },
    /// The tables cannot be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] metastore::Error),
}

/// Ranges of `om.db`.
#[derive(Debug)]
pub(crate) struct OmCompactor {
    pub(crate) ranges: RangeCompactor,
    pub(crate) options: CompactionOptions,
    /// True if a scan was requested before its time.
    pub(crate) asked: AtomicBool,
}

impl OmCompactor {
    /// With positions that are stored in `dir`.
    pub(crate) fn new(options: CompactionOptions, dir: &Path) -> Self {
        let ranges = RangeCompactor::new(options.limits, Some(dir.join(PLACES))).patient(PATIENCE);
        Self { ranges, options, asked: AtomicBool::new(false) }
    }

    /// Scans all tables. Blocks.
    ///
    /// # Errors
    /// When files cannot be listed or memory cannot be flushed.
    pub(crate) fn look(&self, tables: &Tables) -> Result<usize, metastore::Error> {
        let plans = groups::all()
            // The buckets are read only for tables with ranges to check.
            .filter(|table| has_deletions(tables, *table, &self.options.limits))
            .map(|table| groups::plan(tables, table));
        self.ranges.look(tables.store(), plans)
    }

    /// Queues ranges of tombstone walls that lists met, if worth it. Blocks.
    ///
    /// # Errors
    /// As [`OmCompactor::look`].
    pub(crate) fn look_at_walls(&self, tables: &Tables) -> Result<usize, metastore::Error> {
        let walls = tables.store().take_walls();
        self.ranges.look_at_walls(tables.store(), walls)
    }

    /// Compacts the next range. Blocks.
    pub(crate) fn compact_next(&self, tables: &Tables) -> Option<Finished> {
        self.ranges.compact_next(tables.store())
    }

    /// Queues a range that an administrator requested: a table, or a bucket of it; without a table,
    /// a scan of all tables.
    pub(crate) fn ask(
        &self,
        tables: &Tables,
        request: &RangeCompactionRunRequest,
    ) -> Result<(), NotCompacted> {
        let Some(name) = &request.table else {
            self.asked.store(true, Ordering::Relaxed);
            return Ok(());
        };
        let known = groups::all().find(|table| table.name() == name);
        let table = known.ok_or_else(|| NotCompacted::NoSuchTable(name.clone()))?;
        let (Some(volume), Some(bucket)) = (&request.volume, &request.bucket) else {
            return Ok(self.ranges.ask(tables.store(), table, b"", None)?);
        };
        let prefix = groups::bucket_prefix(tables, table, volume, bucket)?;
        let prefix = prefix.ok_or_else(|| NotCompacted::NoSuchBucket {
            table: name.clone(),
            volume: volume.clone(),
            bucket: bucket.clone(),
        })?;
        let end = namespace::tables::prefix_end(&prefix);
        Ok(self.ranges.ask(tables.store(), table, &prefix, end.as_deref())?)
    }
}

/// Returns `true` if a table has enough tombstones for the compaction of any range.
fn has_deletions(tables: &Tables, table: StoreTable, limits: &Limits) -> bool {
    let store = tables.store();
    let in_files = || -> u64 {
        let files = store.table_files(table).unwrap_or_default();
        files.iter().map(|file| file.deletions).fold(0, u64::saturating_add)
    };
    store.deletions_in_memory(table).saturating_add(in_files()) >= limits.min_tombstones.max(1)
}
