//! Ordered reads.

use rust_rocksdb::{DB, DBRawIteratorWithThreadMode, ReadOptions};

use crate::{Error, Result};

/// What an iteration covers.
#[derive(Debug, Clone, Default)]
pub struct IterRange {
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
    max_skipped: u64,
    readahead: usize,
    fill_cache: bool,
}

impl IterRange {
    /// The whole table.
    pub fn all() -> Self {
        Self { fill_cache: true, ..Self::default() }
    }

    /// Rows from `lower` on, `lower` included.
    pub fn from(lower: impl Into<Vec<u8>>) -> Self {
        Self { lower: Some(lower.into()), ..Self::all() }
    }

    /// Rows whose key begins with `prefix`.
    pub fn prefix(prefix: impl Into<Vec<u8>>) -> Self {
        let lower = prefix.into();
        let upper = prefix_end(&lower);
        Self { lower: Some(lower), upper, ..Self::all() }
    }

    /// Stops before `upper`.
    #[must_use]
    pub fn until(mut self, upper: impl Into<Vec<u8>>) -> Self {
        self.upper = Some(upper.into());
        self
    }

    /// Gives up with [`Error::Failed`] after skipping that many deleted rows in one step, so
    /// that a request cannot be stuck behind tombstones; 0 is no bound.
    #[must_use]
    pub fn max_skipped(mut self, rows: u64) -> Self {
        self.max_skipped = rows;
        self
    }

    /// Reads ahead that many bytes and leaves the cache alone: for long background scans.
    #[must_use]
    pub fn background(mut self, readahead: usize) -> Self {
        self.readahead = readahead;
        self.fill_cache = false;
        self
    }

    pub(crate) fn read_options(self) -> ReadOptions {
        let mut options = ReadOptions::default();
        if let Some(lower) = self.lower {
            options.set_iterate_lower_bound(lower);
        }
        if let Some(upper) = self.upper {
            options.set_iterate_upper_bound(upper);
        }
        if self.max_skipped > 0 {
            options.set_max_skippable_internal_keys(self.max_skipped);
        }
        if self.readahead > 0 {
            options.set_readahead_size(self.readahead);
        }
        options.fill_cache(self.fill_cache);
        options
    }
}

/// The smallest key after every key that begins with `prefix`; `None` when there is none.
pub(crate) fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|b| *b != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

/// A position in an ordered table. A new cursor stands before the first row of its range:
/// call [`Cursor::first`] or [`Cursor::seek`].
pub struct Cursor<'a> {
    raw: DBRawIteratorWithThreadMode<'a, DB>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(raw: DBRawIteratorWithThreadMode<'a, DB>) -> Self {
        Self { raw }
    }

    /// Goes to the first row of the range.
    pub fn first(&mut self) {
        self.raw.seek_to_first();
    }

    /// Goes to the last row of the range.
    pub fn last(&mut self) {
        self.raw.seek_to_last();
    }

    /// Goes to the first row at or after `key`.
    pub fn seek(&mut self, key: &[u8]) {
        self.raw.seek(key);
    }

    /// Goes to the last row at or before `key`.
    pub fn seek_back(&mut self, key: &[u8]) {
        self.raw.seek_for_prev(key);
    }

    /// Goes to the next row.
    pub fn next(&mut self) {
        self.raw.next();
    }

    /// Goes to the row before.
    pub fn prev(&mut self) {
        self.raw.prev();
    }

    /// The row here, `None` past the end.
    ///
    /// # Errors
    /// When the read failed, the data is damaged, or too many deleted rows were skipped.
    pub fn row(&self) -> Result<Option<(&[u8], &[u8])>> {
        match self.raw.item() {
            Some(row) => Ok(Some(row)),
            None => self.raw.status().map(|()| None).map_err(|e| Error::of("iterate", e)),
        }
    }

    /// Visits rows from here on until `visit` says `false` or the range ends.
    ///
    /// # Errors
    /// As [`Cursor::row`].
    pub fn for_each(&mut self, mut visit: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        while let Some((key, value)) = self.row()? {
            if !visit(key, value) {
                return Ok(());
            }
            self.raw.next();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::prefix_end;

    #[test]
    fn the_end_of_a_prefix_is_the_next_sibling() {
        assert_eq!(prefix_end(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(prefix_end(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(prefix_end(b"\xff"), None);
        assert_eq!(prefix_end(b""), None);
    }
}
