//! Ordered reads.

use rust_rocksdb::{ColumnFamily, DB, DBRawIteratorWithThreadMode, ErrorKind, ReadOptions};

use crate::gaps::{Gaps, SnapshotMark, TABLE_END, successor};
use crate::{Error, Result};

/// The range of an iteration.
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

    /// Rows from `lower` on, including `lower`.
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

    /// Fails with [`Error::Failed`] after skipping that many deleted rows in one step, so that a
    /// request cannot hang on tombstones; 0 for no limit.
    #[must_use]
    pub fn max_skipped(mut self, rows: u64) -> Self {
        self.max_skipped = rows;
        self
    }

    /// Reads ahead that many bytes and bypasses the cache: for long background scans.
    #[must_use]
    pub fn background(mut self, readahead: usize) -> Self {
        self.readahead = readahead;
        self.fill_cache = false;
        self
    }

    /// Returns `true` if a long skip over tombstones is an error.
    pub(crate) fn is_bounded(&self) -> bool {
        self.max_skipped > 0
    }

    pub(crate) fn read_options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        if let Some(lower) = &self.lower {
            options.set_iterate_lower_bound(lower.as_slice());
        }
        if let Some(upper) = &self.upper {
            options.set_iterate_upper_bound(upper.as_slice());
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

/// The smallest key after every key that begins with `prefix`; `None` if there is none.
pub(crate) fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|b| *b != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

/// A position in an ordered table. A new cursor stands before the first row of its range: call
/// [`Cursor::first`] or [`Cursor::seek`].
///
/// Forwards, it skips ranges that are known to contain only tombstones ([`crate::gaps`]). A cursor
/// of a [`Snapshot`](crate::Snapshot) also records such ranges.
pub struct Cursor<'a> {
    raw: DBRawIteratorWithThreadMode<'a, DB>,
    over: Option<Over<'a>>,
    /// The previous row, to continue from it.
    left: Vec<u8>,
    state: State,
}

/// State of a cursor that its iterator does not have.
enum State {
    /// The iterator is at the cursor's position.
    Iterator,
    /// There is no further row.
    End,
    /// The next step could not be read.
    Failed(Error),
}

/// State for skipping tombstones.
pub(crate) struct Over<'a> {
    pub(crate) gaps: &'a Gaps,
    pub(crate) table: &'static str,
    /// It sees this sequence number or a later one.
    pub(crate) sequence: u64,
    pub(crate) range: IterRange,
    /// Set with a snapshot: the cursor records gaps.
    pub(crate) search: Option<Searching<'a>>,
    /// The start of the next gap that it may use.
    pub(crate) ahead: Option<Vec<u8>>,
}

/// State for recording a gap.
pub(crate) struct Searching<'a> {
    pub(crate) db: &'a DB,
    pub(crate) family: &'a ColumnFamily,
    pub(crate) snapshot: &'a rust_rocksdb::Snapshot<'a>,
    pub(crate) mark: SnapshotMark,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(raw: DBRawIteratorWithThreadMode<'a, DB>, over: Option<Over<'a>>) -> Self {
        Self { raw, over, left: Vec::new(), state: State::Iterator }
    }

    /// Moves to the first row of the range.
    pub fn first(&mut self) {
        let Some(over) = &self.over else { return self.raw.seek_to_first() };
        let lower = over.range.lower.clone().unwrap_or_default();
        self.go(lower);
    }

    /// Moves to the last row of the range.
    pub fn last(&mut self) {
        self.state = State::Iterator;
        self.raw.seek_to_last();
    }

    /// Moves to the first row at or after `key`.
    pub fn seek(&mut self, key: &[u8]) {
        match &self.over {
            Some(over) => {
                let lower = over.range.lower.as_deref().unwrap_or_default();
                let key = key.max(lower).to_vec();
                self.go(key);
            }
            None => self.raw.seek(key),
        }
    }

    /// Moves to the last row at or before `key`.
    pub fn seek_back(&mut self, key: &[u8]) {
        self.state = State::Iterator;
        self.raw.seek_for_prev(key);
    }

    /// Moves to the next row.
    pub fn next(&mut self) {
        let Some(over) = &self.over else { return self.raw.next() };
        let Some(here) = self.raw.key() else { return };
        self.left.clear();
        self.left.extend_from_slice(here);
        self.left.push(0);
        if over.ahead.as_ref().is_some_and(|ahead| self.left >= *ahead) {
            let from = std::mem::take(&mut self.left);
            return self.go(from);
        }
        self.raw.next();
        if self.skipped_too_many() {
            let from = std::mem::take(&mut self.left);
            self.find(from);
        }
    }

    /// Moves to the previous row.
    pub fn prev(&mut self) {
        self.raw.prev();
    }

    /// The current row, `None` past the end.
    ///
    /// # Errors
    /// If the read failed, the data is damaged, or too many deleted rows were skipped.
    pub fn row(&self) -> Result<Option<(&[u8], &[u8])>> {
        match &self.state {
            State::Iterator => {}
            State::End => return Ok(None),
            State::Failed(error) => return Err(error.clone()),
        }
        match self.raw.item() {
            Some(row) => Ok(Some(row)),
            None => self.raw.status().map(|()| None).map_err(|e| Error::of("iterate", e)),
        }
    }

    /// Visits rows from here on until `visit` returns `false` or the range ends.
    ///
    /// # Errors
    /// As [`Cursor::row`].
    pub fn for_each(&mut self, mut visit: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        while let Some((key, value)) = self.row()? {
            if !visit(key, value) {
                return Ok(());
            }
            self.next();
        }
        Ok(())
    }

    /// Moves to the first row from `from` on.
    fn go(&mut self, from: Vec<u8>) {
        self.state = State::Iterator;
        let Some(over) = &mut self.over else { return self.raw.seek(from) };
        let from = match over.gaps.any() {
            true => over.gaps.behind(over.table, &from, over.sequence).unwrap_or(from),
            false => from,
        };
        self.raw.seek(&from);
        over.look_ahead(self.raw.key());
        if self.skipped_too_many() {
            self.find(from);
        }
    }

    /// Returns `true` if the last step stopped at its limit of tombstones.
    fn skipped_too_many(&self) -> bool {
        let searches = self.over.as_ref().is_some_and(|over| over.search.is_some());
        searches
            && !self.raw.valid()
            && self.raw.status().is_err_and(|e| e.kind() == ErrorKind::Incomplete)
    }

    /// Moves to the first row from `from` on, over any number of tombstones, and records the ranges
    /// without rows.
    fn find(&mut self, mut from: Vec<u8>) {
        let Some(over) = &mut self.over else { return };
        loop {
            if let Some(behind) = over.gaps.behind(over.table, &from, over.sequence) {
                from = behind;
                self.raw.seek(&from);
                let incomplete = !self.raw.valid()
                    && self.raw.status().is_err_and(|e| e.kind() == ErrorKind::Incomplete);
                if !incomplete {
                    over.look_ahead(self.raw.key());
                    return;
                }
            }
            match over.step_through(&from) {
                Ok(Found::Row(key)) => {
                    self.raw.seek(&key);
                    over.look_ahead(self.raw.key());
                    return;
                }
                Ok(Found::Gap(start)) => from = start,
                Ok(Found::End) => {
                    self.state = State::End;
                    return;
                }
                Err(error) => {
                    self.state = State::Failed(error);
                    return;
                }
            }
        }
    }
}

/// The item after a run of tombstones.
enum Found {
    Row(Vec<u8>),
    /// The start of a known gap.
    Gap(Vec<u8>),
    /// The end of the range.
    End,
}

impl Over<'_> {
    /// Looks up the next gap from the current row on.
    fn look_ahead(&mut self, here: Option<&[u8]>) {
        self.ahead = match (here, self.gaps.any()) {
            (Some(here), true) => self.gaps.next_start(self.table, &successor(here), self.sequence),
            _ => None,
        };
    }

    /// Steps over tombstones from `from` on, up to the next row or known gap.
    fn step_through(&self, from: &[u8]) -> Result<Found> {
        let Some(search) = &self.search else { return Ok(Found::End) };
        let ahead = self.gaps.next_start(self.table, from, self.sequence);
        let upper = self.range.upper.as_deref();
        let gap = ahead.filter(|start| upper.is_none_or(|upper| start.as_slice() < upper));
        let mut options = ReadOptions::default();
        options.set_snapshot(search.snapshot);
        options.set_iterate_lower_bound(from);
        if let Some(stop) = gap.as_deref().or(upper) {
            options.set_iterate_upper_bound(stop);
        }
        let mut steps = search.db.raw_iterator_cf_opt(search.family, options);
        let id = self.gaps.begin_search(self.table, from, search.mark);
        steps.seek_to_first();
        let failed = steps.status().err();
        let found = match (steps.key(), gap) {
            (Some(key), _) => Found::Row(key.to_vec()),
            (None, Some(start)) => Found::Gap(start),
            (None, None) => Found::End,
        };
        let until = match &found {
            Found::Row(key) | Found::Gap(key) => Some(key.as_slice()),
            Found::End => Some(upper.unwrap_or(&TABLE_END)),
        };
        match (id, until) {
            (Some(id), Some(until)) if failed.is_none() => {
                self.gaps.end_search(id, until, self.sequence);
            }
            (Some(id), _) => self.gaps.abandon(id),
            (None, _) => {}
        }
        match failed {
            Some(error) => Err(Error::of("iterate", error)),
            None => Ok(found),
        }
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
