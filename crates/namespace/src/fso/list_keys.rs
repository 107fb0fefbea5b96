//! Listing a whole tree, or what is below a prefix, in the order of the paths: an object store's
//! list. Directories are listed, too, with a slash behind their name.
//!
//! The order is that of the paths' bytes, as S3 wants it: `a-b` and `a.b` come before the
//! directory `a/` and what is in it, though their rows come after the row of `a`. So a directory
//! is deferred while what follows in its own directory sorts before it.

use std::ops::ControlFlow;

use proto::ozone::DirectoryInfo;

use crate::error::OmError;
use crate::tree::child::{Child, Range, children};
use crate::tree::find::{Entry, find};
use crate::tree::{Tree, path};

/// A key of the list.
pub(crate) enum ListedKey<'a> {
    /// A file: its path and its row.
    File { path: &'a str, row: &'a [u8] },
    /// A directory; the path ends with a slash.
    Directory { path: &'a str, directory: &'a DirectoryInfo },
}

/// Takes keys until it breaks.
pub(crate) type EachKey<'e> = dyn FnMut(ListedKey<'_>) -> Result<ControlFlow<()>, OmError> + 'e;

/// What is asked for.
pub(crate) struct KeyRange<'a> {
    /// What paths begin with.
    pub prefix: &'a str,
    /// Paths are behind this one.
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
    let mut list = List { tree, range, each };
    let mut path = path::join(above, "");
    // The directory itself is a key of its own list.
    if !above.is_empty() && range.prefix == path && path.as_str() > range.after {
        let Some(found) = find(tree, above)? else { return Ok(()) };
        if let Entry::Directory(directory) = found.entry {
            let key = ListedKey::Directory { path: &path, directory: &directory };
            if (list.each)(key)?.is_break() {
                return Ok(());
            }
        }
    }
    list.directory(&mut path, id).map(drop)
}

struct List<'l, 'e> {
    tree: &'l Tree<'l>,
    range: &'l KeyRange<'l>,
    each: &'l mut EachKey<'e>,
}

impl List<'_, '_> {
    /// Lists the directory whose path, with a slash behind, is `path`.
    fn directory(&mut self, path: &mut String, id: u64) -> Result<ControlFlow<()>, OmError> {
        let (prefix, after) = (self.range.prefix, self.range.after);
        let name_prefix = prefix.strip_prefix(path.as_str()).unwrap_or("");
        // Below the point where the list goes on, all of a directory is behind it.
        let start = match after.strip_prefix(path.as_str()) {
            Some(rest) => rest.split('/').next().unwrap_or(""),
            None => "",
        };
        let range = Range { prefix: name_prefix, start };
        let base = path.len();
        let tree = self.tree;
        let mut deferred = deferred_before(tree, id, start)?;
        deferred.retain(|directory| directory.name.starts_with(name_prefix));
        let mut flow = ControlFlow::Continue(());
        children(tree, id, &range, &mut |child| {
            let name = match &child {
                Child::File { name, .. } => *name,
                Child::Directory(directory) => &directory.name,
            };
            flow = self.release(&mut deferred, Some(name), path)?;
            if flow.is_break() {
                return Ok(flow);
            }
            match child {
                Child::File { name, row } => {
                    path.truncate(base);
                    path.push_str(name);
                    if path.as_str() > after {
                        flow = (self.each)(ListedKey::File { path, row })?;
                    }
                    path.truncate(base);
                }
                Child::Directory(directory) => deferred.push(directory),
            }
            Ok(flow)
        })?;
        if flow.is_continue() {
            flow = self.release(&mut deferred, None, path)?;
        }
        Ok(flow)
    }

    /// Lists the deferred directories that come before `next`, the last deferred one first: it
    /// sorts before those that are deferred because of it.
    fn release(
        &mut self,
        deferred: &mut Vec<DirectoryInfo>,
        next: Option<&str>,
        path: &mut String,
    ) -> Result<ControlFlow<()>, OmError> {
        while let Some(directory) =
            deferred.pop_if(|deferred| next.is_none_or(|n| is_before(&deferred.name, n)))
        {
            let base = path.len();
            path.push_str(&directory.name);
            path.push('/');
            let mut flow = ControlFlow::Continue(());
            if path.as_str() > self.range.after && path.starts_with(self.range.prefix) {
                let key = ListedKey::Directory { path, directory: &directory };
                flow = (self.each)(key)?;
            }
            // Nothing in a directory is behind a point that is behind all of it.
            let over = self.range.after > path.as_str() && !self.range.after.starts_with(&**path);
            if flow.is_continue() && !over {
                flow = self.directory(path, directory.object_id)?;
            }
            path.truncate(base);
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Whether the paths in directory `name` are before one that begins with `next`, a name that is
/// behind `name` in its directory.
fn is_before(name: &str, next: &str) -> bool {
    match next.strip_prefix(name) {
        Some(rest) => rest.as_bytes().first().is_none_or(|byte| *byte > b'/'),
        None => true,
    }
}

/// The directories that a list which goes on at `name` would have deferred on its way there.
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
