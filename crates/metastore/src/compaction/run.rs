//! Compacts a range, and looks what is left of its tombstones.

use std::time::{Duration, Instant};

use blockio::file_system_space;
use rust_rocksdb::{BottommostLevelCompaction, CompactOptions, CompactionOptions};

use super::{RangeStatistics, TableFile};
use crate::{Error, Result, Store, Table};

/// RocksDB's last level, which all tables of this crate have.
const LAST_LEVEL: i32 = 6;
/// Bytes that stay free on the disk whatever is compacted.
const RESERVE_BYTES: u64 = 64 << 20;

/// What the compaction of a range came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// What its files held before.
    pub before: RangeStatistics,
    /// What files of its rows hold now; those that were flushed meanwhile do not count.
    pub after: RangeStatistics,
    /// Bytes that compactions of the database read meanwhile.
    pub read_bytes: u64,
    /// Bytes that they wrote.
    pub written_bytes: u64,
    /// How long it took.
    pub took: Duration,
    /// The files of the range had to be compacted by name, since the range as such left them.
    pub by_file: bool,
}

impl Compacted {
    /// Whether most of the tombstones are gone.
    pub fn cleared(&self) -> bool {
        self.after.deletions <= self.before.deletions / 10
    }
}

impl Store {
    /// Compacts `start..end` down to the last level, and looks what is left of the tombstones. Can
    /// take long: as long as rewriting the files of the range takes.
    ///
    /// A range is compacted with the whole of those files of the last level that overlap it. With
    /// tight bounds RocksDB may move tombstones to the level above and leave them there: it goes on
    /// to the last level only if that has keys of the range, and drops a tombstone only if no file
    /// of the last level spans it.
    ///
    /// # Errors
    /// When there is no such table, no room for the new files, or the files cannot be read or
    /// written.
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

    /// Compacts the files that overlap `start..end`, whatever is left of its tombstones.
    ///
    /// # Errors
    /// As [`Store::compact`].
    pub fn compact_range(&self, table: Table, start: &[u8], end: &[u8]) -> Result<()> {
        self.compact(table, start, Some(end)).map(|_| ())
    }

    /// Compacts a whole table, its last level included.
    ///
    /// # Errors
    /// When there is no such table, or no room.
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

    /// Ends compactions of ranges that are under way, and lets none begin any more: for a database
    /// that is about to be closed.
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

    /// What is in files that have rows as old as `newest`.
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

    /// Compacts the files of a range into the last level, by name. False when RocksDB has begun to
    /// compact one of them by itself meanwhile: a later look finds what that leaves.
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

    /// Refuses what could fill the disk.
    fn check_room(&self, bytes: u64) -> Result<()> {
        let operation = "compact";
        let space = file_system_space(&self.inner.path)
            .map_err(|e| Error::Failed { operation, reason: e.to_string() })?;
        let wanted = bytes.saturating_add(RESERVE_BYTES);
        if space.available < wanted {
            let reason = format!("{wanted} bytes are wanted, {} are free", space.available);
            return Err(Error::NoSpace { operation, reason });
        }
        Ok(())
    }
}

/// The range with the whole of the files of the last level that overlap it. RocksDB takes the end
/// as a key of the range.
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
