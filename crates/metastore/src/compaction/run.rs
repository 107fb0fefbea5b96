//! Compacts a range, and checks how many of its tombstones remain.

use std::time::{Duration, Instant};

use blockio::file_system_space;
use rust_rocksdb::{BottommostLevelCompaction, CompactOptions, CompactionOptions};

use super::{RangeStatistics, TableFile};
use crate::{Error, Result, Store, Table};

/// RocksDB's last level, which all tables of this crate have.
const LAST_LEVEL: i32 = 6;
/// Disk space in bytes that compactions leave free.
const RESERVE_BYTES: u64 = 64 << 20;

/// The result of a range's compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// Statistics of its files before.
    pub before: RangeStatistics,
    /// Statistics of files with its rows afterwards; those flushed in the meantime do not count.
    pub after: RangeStatistics,
    /// Bytes that compactions of the database read in the meantime.
    pub read_bytes: u64,
    /// Bytes that compactions of the database wrote in the meantime.
    pub written_bytes: u64,
    /// Duration.
    pub took: Duration,
    /// The files of the range had to be compacted by name, because compacting the range had left
    /// them.
    pub by_file: bool,
}

impl Compacted {
    /// Returns `true` if most of the tombstones were removed.
    pub fn cleared(&self) -> bool {
        self.after.deletions <= self.before.deletions / 10
    }
}

impl Store {
    /// Compacts `start..end` down to the last level, and checks how many tombstones remain. Takes
    /// as long as rewriting the files of the range.
    ///
    /// A range is extended to the whole of the files of the last level that overlap it. With tight
    /// bounds RocksDB may move tombstones to the level above and leave them there: it continues to
    /// the last level only if that has keys of the range, and drops a tombstone only if no file of
    /// the last level spans it.
    ///
    /// # Errors
    /// If there is no such table, not enough disk space for the new files, or the files cannot be
    /// read or written.
    pub fn compact(&self, table: Table, start: &[u8], end: Option<&[u8]>) -> Result<Compacted> {
        let began = Instant::now();
        let jobs = &self.inner.jobs;
        let (read, written) = (jobs.read_bytes(), jobs.written_bytes());
        let failures = jobs.failures();
        let newest = self.inner.db.latest_sequence_number();
        let files = self.overlapping(table, start, end)?;
        let before = RangeStatistics::of(&files, start, end);
        self.check_room(before.bytes)?;
        let (wide_start, wide_end) = widened(&files, start, end);
        let is_last = |file: &TableFile| file.level == LAST_LEVEL && file.deletions > 0;
        let mut options = CompactOptions::default();
        options.set_exclusive_manual_compaction(false);
        options.set_bottommost_level_compaction(match files.iter().any(is_last) {
            true => BottommostLevelCompaction::ForceOptimized,
            false => BottommostLevelCompaction::IfHaveCompactionFilter,
        });
        let family = self.family(table.name)?;
        let wide_start = wide_start.as_slice();
        self.inner.db.compact_range_cf_opt(family, Some(wide_start), wide_end.as_deref(), &options);
        let mut after = self.left(table, start, end, newest)?;
        let mut by_file = false;
        let cleared = |after: &RangeStatistics| after.deletions <= before.deletions / 10;
        if !cleared(&after) && jobs.failures() == failures {
            by_file = self.compact_files(table, wide_start, wide_end.as_deref())?;
            after = self.left(table, start, end, newest)?;
        }
        if !cleared(&after) && jobs.failures() != failures {
            let reason = jobs.last_failure().unwrap_or_default();
            return Err(Error::Failed { operation: "compact", reason });
        }
        if cleared(&after) {
            self.inner.gaps.forget(table.name, start, end);
        }
        Ok(Compacted {
            before,
            after,
            read_bytes: jobs.read_bytes().saturating_sub(read),
            written_bytes: jobs.written_bytes().saturating_sub(written),
            took: began.elapsed(),
            by_file,
        })
    }

    /// Compacts the files that overlap `start..end`, without checking the remaining tombstones.
    ///
    /// # Errors
    /// As [`Store::compact`].
    pub fn compact_range(&self, table: Table, start: &[u8], end: &[u8]) -> Result<()> {
        self.compact(table, start, Some(end)).map(|_| ())
    }

    /// Compacts a whole table, its last level included.
    ///
    /// # Errors
    /// If there is no such table, or not enough disk space.
    pub fn compact_table(&self, table: Table) -> Result<()> {
        let family = self.family(table.name)?;
        let files = self.table_files(table)?;
        self.check_room(RangeStatistics::of(&files, b"", None).bytes)?;
        let mut options = CompactOptions::default();
        options.set_exclusive_manual_compaction(false);
        options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        self.inner.db.compact_range_cf_opt(family, None::<&[u8]>, None::<&[u8]>, &options);
        self.inner.gaps.forget(table.name, b"", None);
        Ok(())
    }

    /// Cancels running range compactions, and prevents further ones: for a database that is about
    /// to be closed.
    pub fn cancel_compactions(&self) {
        self.inner.db.disable_manual_compaction();
    }

    fn overlapping(
        &self,
        table: Table,
        start: &[u8],
        end: Option<&[u8]>,
    ) -> Result<Vec<TableFile>> {
        let mut files = self.table_files(table)?;
        files.retain(|file| file.overlaps(start, end));
        Ok(files)
    }

    /// Statistics of files that contain rows as old as `newest`.
    fn left(
        &self,
        table: Table,
        start: &[u8],
        end: Option<&[u8]>,
        newest: u64,
    ) -> Result<RangeStatistics> {
        let mut files = self.overlapping(table, start, end)?;
        files.retain(|file| file.oldest <= newest);
        Ok(RangeStatistics::of(&files, start, end))
    }

    /// Compacts the files of a range into the last level, by name. Returns `false` if RocksDB has
    /// started to compact one of them in the meantime: a later scan finds the remaining ones.
    fn compact_files(&self, table: Table, start: &[u8], end: Option<&[u8]>) -> Result<bool> {
        let files = self.overlapping(table, start, end)?;
        if files.is_empty() {
            return Ok(true);
        }
        let family = self.family(table.name)?;
        let mut options = CompactionOptions::default();
        options.set_allow_trivial_move(false);
        let names = files.iter().map(|file| file.name.as_str());
        let done = self.inner.db.compact_files_cf(family, &options, names, LAST_LEVEL);
        match done {
            Err(e) if e.kind() == rust_rocksdb::ErrorKind::Aborted => Ok(false),
            done => done.map(|_| true).map_err(|e| Error::of("compact files", e)),
        }
    }

    /// Refuses a compaction that could fill the disk.
    fn check_room(&self, bytes: u64) -> Result<()> {
        let operation = "compact";
        let space = file_system_space(&self.inner.path)
            .map_err(|e| Error::Failed { operation, reason: e.to_string() })?;
        let wanted = bytes.saturating_add(RESERVE_BYTES);
        if space.available < wanted {
            let reason = format!("{wanted} bytes are required, {} are free", space.available);
            return Err(Error::NoSpace { operation, reason });
        }
        Ok(())
    }
}

/// Extends the range to the whole of the files of the last level that overlap it. RocksDB includes
/// the end key in the range.
fn widened(files: &[TableFile], start: &[u8], end: Option<&[u8]>) -> (Vec<u8>, Option<Vec<u8>>) {
    let last = files.iter().filter(|file| file.level == LAST_LEVEL);
    let first = last.clone().map(|file| file.first.as_slice()).min();
    let wide_start = first.map_or(start, |first| first.min(start));
    let wide_end = end.map(|end| {
        let last = last.map(|file| file.last.as_slice()).max();
        last.map_or(end, |last| last.max(end)).to_vec()
    });
    (wide_start.to_vec(), wide_end)
}
