//! Listing a whole tree, or the entries below a prefix, in the order of the paths: an object
//! store's list. Directories are listed, too, with a slash after their name.
//!
//! The order is that of the paths' bytes, as S3 requires: `a-b` and `a.b` come before the directory
//! `a/` and its children, though their rows come after the row of `a`. So a directory is deferred
//! while the next entry in its own directory sorts before it.
//!
//! A tree may be deeper than any thread's stack, because renames put trees into each other: the
//! directories of the walk are a list in memory ([`Level`]). The scan of a directory ends when the
//! walk enters a directory below it, and begins again after that one, so that one scan is open at a
//! time.

use std::ops::ControlFlow;

use proto::ozone::DirectoryInfo;

use crate::error::OmError;
use crate::state::scan::try_scan;
use crate::state::tree::child::{CHUNK, Directories, Range, Rows, name_in};
use crate::state::tree::find::{Entry, find};
use crate::state::tree::{Tree, path};
use crate::tables::Table;

/// A key of the list.
pub(crate) enum ListedKey<'a> {
    /// A file: its path and its row.
    File { path: &'a str, row: &'a [u8] },
    /// A directory; the path ends with a slash.
    Directory { path: &'a str, directory: &'a DirectoryInfo },
}

/// Takes keys until it breaks.
pub(crate) type EachKey<'e> = dyn FnMut(ListedKey<'_>) -> Result<ControlFlow<()>, OmError> + 'e;

/// Requested range.
pub(crate) struct KeyRange<'a> {
    /// Prefix of paths.
    pub prefix: &'a str,
    /// Paths sort after this one.
    pub after: &'a str,
}

/// Calls `each` with the keys of the range in the order of their paths, until it breaks.
pub(crate) fn walk(
    tree: &Tree<'_>,
    range: &KeyRange<'_>,
    each: &mut EachKey<'_>,
) -> Result<(), OmError> {
    // The deepest directory that has all of the range in it.
    let (above, _) = path::split(range.prefix);
    // No path has an empty name in it.
    if range.prefix.starts_with('/') || path::normalize(above) != above {
        return Ok(());
    }
    let id = match above {
        "" => tree.bucket_id,
        above => match find(tree, above)?.map(|found| found.entry) {
            Some(Entry::Directory(directory)) => directory.object_id,
            _ => return Ok(()),
        },
    };
    let mut path = path::join(above, "");
    let after = match range.after.strip_prefix(path.as_str()) {
        Some(rest) => rest,
        // All of the directory is after the point where the list continues, or before it.
        None if range.after < path.as_str() => "",
        None => return Ok(()),
    };
    // The directory itself is a key of its own list.
    if !above.is_empty() && range.prefix == path && path.as_str() > range.after {
        let Some(found) = find(tree, above)? else { return Ok(()) };
        if let Entry::Directory(directory) = found.entry {
            let key = ListedKey::Directory { path: &path, directory: &directory };
            if each(key)?.is_break() {
                return Ok(());
            }
        }
    }
    let name_prefix = range.prefix.strip_prefix(path.as_str()).unwrap_or("");
    let mut levels = vec![Level::of(tree, id, name_prefix, after, CHUNK)?];
    while let Some(level) = levels.last_mut() {
        match level.go_on(tree, &mut path, each)? {
            Step::Into(directory) => match level.enter(&directory, &mut path, each)? {
                Enter::At(after) => {
                    // Of levels that are far down fewer directories are in memory.
                    let most = CHUNK.checked_div(levels.len()).unwrap_or(CHUNK).max(1);
                    levels.push(Level::of(tree, directory.object_id, "", after, most)?);
                }
                Enter::Passed => {}
                Enter::Ended => break,
            },
            Step::Out => drop(levels.pop()),
            Step::Ended => break,
        }
    }
    Ok(())
}

/// Next step of the walk.
enum Step {
    /// Enters this directory.
    Into(DirectoryInfo),
    /// Leaves the current directory.
    Out,
    /// It ends.
    Ended,
}

/// Decision on a directory that the walk reaches.
enum Enter<'l> {
    /// Listed from here on, empty for all of it.
    At(&'l str),
    /// Nothing in it is after the point where the list continues.
    Passed,
    /// The list ends with the directory itself.
    Ended,
}

/// A directory that the walk is in.
struct Level<'l> {
    id: u64,
    /// Prefix of names.
    name_prefix: &'l str,
    /// Point after which the list continues within this directory; empty if all of it is after that
    /// point.
    after: &'l str,
    /// Bytes of the directory's path with a slash after it, after the first visit.
    base: Option<usize>,
    directories: Directories<'l>,
    /// The name from which on files are still to be listed; `None` when all are.
    files: Option<String>,
    /// Directories whose rows are passed and whose paths come later, each of which sorts before
    /// the one in front of it.
    deferred: Vec<DirectoryInfo>,
}

impl<'l> Level<'l> {
    fn of(
        tree: &'l Tree<'l>,
        id: u64,
        name_prefix: &'l str,
        after: &'l str,
        most: usize,
    ) -> Result<Self, OmError> {
        let start = after.split('/').next().unwrap_or("");
        let range = Range { prefix: name_prefix, start };
        let mut deferred = deferred_before(tree, id, start)?;
        deferred.retain(|directory| directory.name.starts_with(name_prefix));
        Ok(Self {
            id,
            name_prefix,
            after,
            base: None,
            directories: Directories::of(tree, id, &range, most),
            files: Some(start.to_owned()),
            deferred,
        })
    }

    /// Lists files up to the next directory whose paths are next. `path` is that of this directory
    /// when the walk comes here first, later any path below it.
    fn go_on(
        &mut self,
        tree: &Tree<'_>,
        path: &mut String,
        each: &mut EachKey<'_>,
    ) -> Result<Step, OmError> {
        let base = *self.base.get_or_insert(path.len());
        path.truncate(base);
        if let Some(start) = self.files.take()
            && let Some(step) = self.list_files(tree, &start, path, each)?
        {
            return Ok(step);
        }
        Ok(match self.next_directory(None)? {
            Some(directory) => Step::Into(directory),
            None => Step::Out,
        })
    }

    fn list_files(
        &mut self,
        tree: &Tree<'_>,
        start: &str,
        path: &mut String,
        each: &mut EachKey<'_>,
    ) -> Result<Option<Step>, OmError> {
        let range = Range { prefix: self.name_prefix, start };
        let Rows { start, end, names_at } = Rows::of(tree, self.id, &range);
        let base = path.len();
        let mut step = None;
        try_scan(tree.view, Table::FileTable, &start, end.as_deref(), &mut |key, value| {
            let name = name_in(Table::FileTable, key, names_at)?;
            if let Some(directory) = self.next_directory(Some(name))? {
                step = Some(Step::Into(directory));
                self.files = Some(name.to_owned());
                return Ok(ControlFlow::Break(()));
            }
            if name > self.after {
                path.push_str(name);
                let flow = each(ListedKey::File { path, row: value })?;
                path.truncate(base);
                if flow.is_break() {
                    step = Some(Step::Ended);
                }
                return Ok(flow);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(step)
    }

    /// The next directory whose paths come before `next`, a name in this one. Directories whose
    /// rows are before that of `next` are deferred on the way.
    fn next_directory(&mut self, next: Option<&str>) -> Result<Option<DirectoryInfo>, OmError> {
        loop {
            let row = self.directories.peek_before(next)?;
            let before = row.or(next);
            // The last deferred one first: it sorts before those that are deferred because of it.
            let ready = |deferred: &mut DirectoryInfo| {
                before.is_none_or(|before| is_before(&deferred.name, before))
            };
            if let Some(ready) = self.deferred.pop_if(ready) {
                return Ok(Some(ready));
            }
            match self.directories.next_before(next)? {
                Some(directory) => self.deferred.push(directory),
                None => return Ok(None),
            }
        }
    }

    /// Lists a directory in this one, without its children.
    fn enter(
        &self,
        directory: &DirectoryInfo,
        path: &mut String,
        each: &mut EachKey<'_>,
    ) -> Result<Enter<'l>, OmError> {
        let base = path.len();
        path.push_str(&directory.name);
        path.push('/');
        let name = path.get(base..).unwrap_or_default();
        let below = self.after.strip_prefix(name);
        if below.is_none() && self.after > name {
            return Ok(Enter::Passed);
        }
        if name > self.after && each(ListedKey::Directory { path, directory })?.is_break() {
            return Ok(Enter::Ended);
        }
        Ok(Enter::At(below.unwrap_or("")))
    }
}

/// Returns `true` if the paths in directory `name` are before one that begins with `next`, a name
/// after `name` in its directory.
fn is_before(name: &str, next: &str) -> bool {
    match next.strip_prefix(name) {
        Some(rest) => rest.as_bytes().first().is_none_or(|byte| *byte > b'/'),
        None => true,
    }
}

/// The directories that a list which continues at `name` would have deferred on its way there.
fn deferred_before(tree: &Tree<'_>, id: u64, name: &str) -> Result<Vec<DirectoryInfo>, OmError> {
    let mut deferred = Vec::new();
    for (at, _) in name.bytes().enumerate().filter(|(_, byte)| *byte < b'/') {
        if let Some(shorter) = name.get(..at).filter(|shorter| !shorter.is_empty())
            && let Some(directory) = tree.directory(id, shorter)?
        {
            deferred.push(DirectoryInfo::clone(&directory));
        }
    }
    Ok(deferred)
}
