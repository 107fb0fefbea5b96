//! Statistics and compaction of key ranges.

use crate::{Error, Result, Store, Table};

/// What the table files that overlap a range hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RangeStatistics {
    /// Files that overlap.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Their entries, tombstones included.
    pub entries: u64,
    /// Their tombstones.
    pub deletions: u64,
}

impl Store {
    /// What the files that overlap `start..end` hold; memory is not counted.
    ///
    /// # Errors
    /// When the file list cannot be read.
    pub fn range_statistics(
        &self,
        table: Table,
        start: &[u8],
        end: &[u8],
    ) -> Result<RangeStatistics> {
        let files = self.inner.db.live_files().map_err(|e| Error::of("list files", e))?;
        let mut sum = RangeStatistics::default();
        for file in files.iter().filter(|f| f.column_family_name == table.name) {
            let before = file.end_key.as_deref().is_some_and(|k| k < start);
            let after = file.start_key.as_deref().is_some_and(|k| k >= end);
            if !before && !after {
                sum.files += 1;
                sum.bytes += file.size as u64;
                sum.entries += file.num_entries;
                sum.deletions += file.num_deletions;
            }
        }
        Ok(sum)
    }

    /// Compacts the files that overlap `start..end`.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn compact_range(&self, table: Table, start: &[u8], end: &[u8]) -> Result<()> {
        let family = self.family(table.name)?;
        self.inner.db.compact_range_cf(family, Some(start), Some(end));
        Ok(())
    }
}
