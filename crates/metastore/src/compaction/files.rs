//! Statistics of the table files that overlap a range.
//!
//! RocksDB has the number of entries from the file itself, and after a start for some files only:
//! so the files' properties are read. They are cached, as files never change.

use std::sync::Arc;

use crate::file_properties::{self, Sample, within};
use crate::{Error, Result, Store, Table};

/// A file of a table, as the database describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableFile {
    /// Its name, in the form that RocksDB's compaction of single files takes.
    pub name: String,
    /// Its level.
    pub level: i32,
    /// Its first key.
    pub first: Vec<u8>,
    /// Its last key.
    pub last: Vec<u8>,
    /// Its size.
    pub bytes: u64,
    /// Its entries, tombstones included.
    pub entries: u64,
    /// Its tombstones.
    pub deletions: u64,
    /// The sequence number of its oldest entry.
    pub oldest: u64,
    /// Positions of tombstones; empty if not recorded.
    pub samples: Vec<Sample>,
}

/// Statistics of the table files that overlap a range.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RangeStatistics {
    /// Number of overlapping files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Their entries, tombstones included.
    pub entries: u64,
    /// Their tombstones.
    pub deletions: u64,
}

impl TableFile {
    /// Returns `true` if it may contain a key of `start..end`; without an end, up to the end of the
    /// table.
    pub fn overlaps(&self, start: &[u8], end: Option<&[u8]>) -> bool {
        self.last.as_slice() >= start && end.is_none_or(|end| self.first.as_slice() < end)
    }
}

impl RangeStatistics {
    /// Sums the files that overlap `start..end`. A file counts in proportion to its samples in the
    /// range, one without samples as a whole.
    pub fn of(files: &[TableFile], start: &[u8], end: Option<&[u8]>) -> Self {
        let overlapping = files.iter().filter(|file| file.overlaps(start, end));
        overlapping.fold(Self::default(), |sum, file| {
            let (entries, deletions) = match file.samples.is_empty() {
                true => (file.entries, file.deletions),
                false => {
                    let part = within(&file.samples, start, end);
                    (part.entries, part.deletions)
                }
            };
            Self {
                files: sum.files.saturating_add(1),
                bytes: sum.bytes.saturating_add(file.bytes),
                entries: sum.entries.saturating_add(entries),
                deletions: sum.deletions.saturating_add(deletions),
            }
        })
    }
}

impl Store {
    /// The files of a table; rows that are only in memory are in none.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub fn table_files(&self, table: Table) -> Result<Vec<TableFile>> {
        let files = self.inner.db.live_files().map_err(|e| Error::of("list files", e))?;
        let of_table = files.into_iter().filter(|file| file.column_family_name == table.name);
        let mut files: Vec<TableFile> = of_table
            .map(|file| TableFile {
                name: file.name,
                level: file.level,
                first: file.start_key.unwrap_or_default(),
                last: file.end_key.unwrap_or_default(),
                bytes: file.size as u64,
                entries: file.num_entries,
                deletions: file.num_deletions,
                oldest: file.smallest_seqno,
                samples: Vec::new(),
            })
            .collect();
        self.read_properties(table, &mut files)?;
        Ok(files)
    }

    /// Adds the recorded statistics to files.
    fn read_properties(&self, table: Table, files: &mut [TableFile]) -> Result<()> {
        let name = |file: &TableFile| file.name.trim_start_matches('/').to_owned();
        let mut cache = self.inner.file_properties.lock();
        let known = cache.entry(table.name).or_default();
        if files.iter().any(|file| !known.contains_key(&name(file))) {
            let family = self.family(table.name)?;
            let read = file_properties::properties(&self.inner.db, family)?;
            *known = read.into_iter().map(|(name, of)| (name, Arc::new(of))).collect();
        }
        for file in files {
            // A file created or deleted in the meantime keeps RocksDB's numbers.
            if let Some(of) = known.get(&name(file)) {
                (file.entries, file.deletions) = (of.entries, of.deletions);
                file.samples.clone_from(&of.samples);
            }
        }
        Ok(())
    }

    /// Statistics of the files that overlap `start..end`; memory is not counted.
    ///
    /// # Errors
    /// If the file list cannot be read.
    pub fn range_statistics(
        &self,
        table: Table,
        start: &[u8],
        end: &[u8],
    ) -> Result<RangeStatistics> {
        Ok(RangeStatistics::of(&self.table_files(table)?, start, Some(end)))
    }

    /// Tombstones of a table that are in memory only.
    pub fn deletions_in_memory(&self, table: Table) -> u64 {
        let active = self.number(table.name, "rocksdb.num-deletes-active-mem-table");
        active.saturating_add(self.number(table.name, "rocksdb.num-deletes-imm-mem-tables"))
    }
}
