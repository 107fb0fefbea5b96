//! Children of one directory, files and directories together in the order of their names.
//!
//! Both tables have their rows in that order. The files are walked, and the directories, which
//! are fewer, are fetched in chunks and merged in.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use proto::ozone::DirectoryInfo;

use super::Tree;
use crate::error::OmError;
use crate::state::row;
use crate::state::scan::try_scan;
use crate::tables::{Table, prefix_end};

/// Directories fetched at once: bounds memory.
pub(crate) const CHUNK: usize = 256;

/// A child of a directory.
pub(crate) enum Child<'a> {
    /// A file and its row.
    File { name: &'a str, row: &'a [u8] },
    /// A directory.
    Directory(DirectoryInfo),
}

/// Range of children.
pub(crate) struct Range<'a> {
    /// Only names that begin like this.
    pub prefix: &'a str,
    /// Only names from this one on.
    pub start: &'a str,
}

/// Calls `each` with children of a directory in the order of their names, until it breaks.
pub(crate) fn children(
    tree: &Tree<'_>,
    directory_id: u64,
    range: &Range<'_>,
    each: &mut dyn FnMut(Child<'_>) -> Result<ControlFlow<()>, OmError>,
) -> Result<(), OmError> {
    let Rows { start, end, names_at } = Rows::of(tree, directory_id, range);
    let mut directories = Directories::of(tree, directory_id, range, CHUNK);
    let mut ended = false;
    try_scan(tree.view, Table::FileTable, &start, end.as_deref(), &mut |key, value| {
        let name = name_in(Table::FileTable, key, names_at)?;
        while let Some(directory) = directories.next_before(Some(name))? {
            if each(Child::Directory(directory))?.is_break() {
                ended = true;
                return Ok(ControlFlow::Break(()));
            }
        }
        let flow = each(Child::File { name, row: value })?;
        ended = flow.is_break();
        Ok(flow)
    })?;
    if ended {
        return Ok(());
    }
    while let Some(directory) = directories.next_before(None)? {
        if each(Child::Directory(directory))?.is_break() {
            break;
        }
    }
    Ok(())
}

/// The rows of a range, which are the same in both tables.
pub(crate) struct Rows {
    pub start: Vec<u8>,
    pub end: Option<Vec<u8>>,
    /// Bytes before the name in a row's key.
    pub names_at: usize,
}

impl Rows {
    /// Those of `range` in a directory.
    pub fn of(tree: &Tree<'_>, directory_id: u64, range: &Range<'_>) -> Self {
        let first = tree.row(directory_id, range.prefix);
        Self {
            start: tree.row(directory_id, range.start.max(range.prefix)),
            end: prefix_end(&first),
            names_at: first.len().saturating_sub(range.prefix.len()),
        }
    }
}

/// The directories of a range, fetched as they are needed.
pub(crate) struct Directories<'t> {
    tree: &'t Tree<'t>,
    /// Row to continue from; `None` at the end.
    next: Option<Vec<u8>>,
    end: Option<Vec<u8>>,
    chunk: VecDeque<DirectoryInfo>,
    /// Directories fetched at once.
    most: usize,
}

impl<'t> Directories<'t> {
    /// Those of `range` in a directory; `most` of them are fetched at once.
    pub fn of(tree: &'t Tree<'t>, directory_id: u64, range: &Range<'_>, most: usize) -> Self {
        let Rows { start, end, .. } = Rows::of(tree, directory_id, range);
        Self { tree, next: Some(start), end, chunk: VecDeque::new(), most }
    }

    /// The name of the next directory, if it is before `name`.
    pub fn peek_before(&mut self, name: Option<&str>) -> Result<Option<&str>, OmError> {
        if self.chunk.is_empty() {
            self.fetch()?;
        }
        let next = self.chunk.front().map(|directory| directory.name.as_str());
        Ok(next.filter(|next| name.is_none_or(|name| *next < name)))
    }

    /// The next directory, if its name is before `name`.
    pub fn next_before(&mut self, name: Option<&str>) -> Result<Option<DirectoryInfo>, OmError> {
        match self.peek_before(name)?.is_some() {
            true => Ok(self.chunk.pop_front()),
            false => Ok(None),
        }
    }

    fn fetch(&mut self) -> Result<(), OmError> {
        let Some(start) = self.next.take() else { return Ok(()) };
        let (chunk, next, most) = (&mut self.chunk, &mut self.next, self.most);
        let table = Table::DirectoryTable;
        let end = self.end.as_deref();
        try_scan(self.tree.view, table, &start, end, &mut |key, value| {
            chunk.push_back(row::decode_slice(table, key, value)?);
            if chunk.len() < most {
                return Ok(ControlFlow::Continue(()));
            }
            // Directly after this row.
            *next = Some([key, b"\0"].concat());
            Ok(ControlFlow::Break(()))
        })
    }
}

/// The name that a row key ends with.
pub(crate) fn name_in(table: Table, key: &[u8], at: usize) -> Result<&str, OmError> {
    let name = std::str::from_utf8(key.get(at..).unwrap_or_default());
    name.map_err(|e| row::damaged(table, key, &e).into())
}
