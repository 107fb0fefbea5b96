//! What is in one directory, files and directories together in the order of their names.
//!
//! Both tables have their rows in that order. The files are walked, and the directories, which
//! are fewer, are fetched in chunks and merged in.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use proto::ozone::DirectoryInfo;

use super::Tree;
use crate::error::OmError;
use crate::row;
use crate::scan::try_scan;
use crate::tables::{Table, prefix_end};

/// Directories fetched at once: bounds memory.
const CHUNK: usize = 256;

/// A child of a directory.
pub(crate) enum Child<'a> {
    /// A file and its row.
    File { name: &'a str, row: &'a [u8] },
    /// A directory.
    Directory(DirectoryInfo),
}

/// Which children.
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
    let first = tree.row(directory_id, range.prefix);
    let start = tree.row(directory_id, range.start.max(range.prefix));
    let end = prefix_end(&first);
    let names_at = first.len().saturating_sub(range.prefix.len());
    let mut directories =
        Directories { tree, next: Some(start.clone()), end: end.clone(), chunk: VecDeque::new() };
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

/// The directories of a range, fetched as they are needed.
struct Directories<'t> {
    tree: &'t Tree<'t>,
    /// Row to go on from; `None` at the end.
    next: Option<Vec<u8>>,
    end: Option<Vec<u8>>,
    chunk: VecDeque<DirectoryInfo>,
}

impl Directories<'_> {
    /// The next directory, if its name is before `name`.
    fn next_before(&mut self, name: Option<&str>) -> Result<Option<DirectoryInfo>, OmError> {
        if self.chunk.is_empty() {
            self.fetch()?;
        }
        let before = |directory: &DirectoryInfo| name.is_none_or(|n| directory.name.as_str() < n);
        match self.chunk.front().is_some_and(before) {
            true => Ok(self.chunk.pop_front()),
            false => Ok(None),
        }
    }

    fn fetch(&mut self) -> Result<(), OmError> {
        let Some(start) = self.next.take() else { return Ok(()) };
        let (chunk, next) = (&mut self.chunk, &mut self.next);
        let table = Table::DirectoryTable;
        let end = self.end.as_deref();
        try_scan(self.tree.view, table, &start, end, &mut |key, value| {
            chunk.push_back(row::decode_slice(table, key, value)?);
            if chunk.len() < CHUNK {
                return Ok(ControlFlow::Continue(()));
            }
            // Right behind this row.
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
