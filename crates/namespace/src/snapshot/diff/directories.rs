//! Paths of directories by their ids, at one end of a diff.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use proto::ozone::DirectoryInfo;

use super::{Kind, Objects};
use crate::error::OmError;
use crate::state::row;
use crate::state::scan::try_scan;
use crate::state::tree::Tree;
use crate::tables::{Table, prefix_end};

/// The directories of changed entries. Each has its name and its parent: the paths of a deep tree
/// would be as many bytes as the square of its depth.
#[derive(Default)]
pub(super) struct Directories {
    /// The bucket itself, if it has directories.
    bucket_id: Option<u64>,
    /// Parents and names of those below the bucket.
    entries: HashMap<u64, (u64, String)>,
}

impl Directories {
    /// Those above `objects`.
    pub fn of(tree: Option<&Tree<'_>>, objects: &Objects) -> Result<Self, OmError> {
        let Some(tree) = tree else { return Ok(Self::default()) };
        let mut entries: HashMap<u64, (u64, String)> = HashMap::new();
        for (id, object) in objects {
            if let Kind::Directory(directory) = &object.kind {
                entries.insert(*id, (object.parent_id, directory.name.clone()));
            }
        }
        let wanted: HashSet<u64> = objects.values().map(|object| object.parent_id).collect();
        let mut below = below_bucket(tree.bucket_id, &wanted, &entries);
        if wanted.iter().any(|id| below.get(id) != Some(&true)) {
            let (table, prefix) = (Table::DirectoryTable, tree.prefix());
            try_scan(
                tree.view,
                table,
                prefix,
                prefix_end(prefix).as_deref(),
                &mut |key, value| {
                    let directory: DirectoryInfo = row::decode_slice(table, key, value)?;
                    entries.insert(directory.object_id, (directory.parent_id, directory.name));
                    Ok(ControlFlow::Continue(()))
                },
            )?;
            below = below_bucket(tree.bucket_id, &wanted, &entries);
        }
        entries.retain(|id, _| below.get(id) == Some(&true));
        Ok(Self { bucket_id: Some(tree.bucket_id), entries })
    }

    /// Returns `true` if the directory is the bucket or below it.
    pub fn has(&self, id: u64) -> bool {
        self.bucket_id == Some(id) || self.entries.contains_key(&id)
    }

    /// The path of `name` in a directory; `None` when that is not below the bucket.
    pub fn path(&self, directory: u64, name: &str) -> Option<String> {
        if !self.has(directory) {
            return None;
        }
        let mut names = vec![name];
        let mut at = directory;
        // All that is in `entries` leads to the bucket, which is not.
        while let Some((parent, name)) = self.entries.get(&at) {
            names.push(name);
            at = *parent;
        }
        names.reverse();
        Some(names.join("/"))
    }
}

/// Directories that match or are below one that does. Results are cached, so that the path up from
/// each directory is followed once.
pub(super) struct Within<'d> {
    directories: &'d Directories,
    is: &'d dyn Fn(u64) -> bool,
    known: HashMap<u64, bool>,
}

impl<'d> Within<'d> {
    /// Of `directories`, within those for which `is` returns `true`.
    pub fn of(directories: &'d Directories, is: &'d dyn Fn(u64) -> bool) -> Self {
        Self { directories, is, known: HashMap::new() }
    }

    /// Returns `true` if the directory or one above it matches.
    pub fn has(&mut self, id: u64) -> bool {
        let mut way = Vec::new();
        let mut at = id;
        let found = loop {
            if let Some(known) = self.known.get(&at) {
                break *known;
            }
            way.push(at);
            if (self.is)(at) {
                break true;
            }
            match self.directories.entries.get(&at) {
                Some((parent, _)) => at = *parent,
                None => break false,
            }
        };
        self.known.extend(way.into_iter().map(|id| (id, found)));
        found
    }
}

/// For `wanted` and all their parents by `entries`: `true` if they lead to the bucket.
fn below_bucket(
    bucket_id: u64,
    wanted: &HashSet<u64>,
    entries: &HashMap<u64, (u64, String)>,
) -> HashMap<u64, bool> {
    let mut known = HashMap::from([(bucket_id, true)]);
    for id in wanted {
        let mut way = Vec::new();
        let mut at = *id;
        let below = loop {
            if let Some(known) = known.get(&at) {
                break *known;
            }
            // Damaged rows may lead to each other: a directory met again has no path.
            known.insert(at, false);
            way.push(at);
            match entries.get(&at) {
                Some((parent, _)) => at = *parent,
                None => break false,
            }
        };
        known.extend(way.into_iter().map(|id| (id, below)));
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(all: &[(u64, u64, &str)]) -> HashMap<u64, (u64, String)> {
        all.iter().map(|(id, parent, name)| (*id, (*parent, (*name).to_owned()))).collect()
    }

    #[test]
    fn circles_and_strangers_are_not_below_the_bucket() {
        let all = entries(&[(2, 1, "a"), (3, 2, "b"), (4, 9, "c"), (5, 6, "d"), (6, 5, "e")]);
        let below = below_bucket(1, &HashSet::from([1, 3, 4, 5, 7]), &all);
        for (id, is) in [(1, true), (2, true), (3, true), (4, false), (5, false), (6, false)] {
            assert_eq!(below.get(&id), Some(&is), "{id}");
        }
    }

    #[test]
    fn what_is_below_is_found_and_remembered() {
        let directories = Directories {
            bucket_id: Some(1),
            entries: entries(&[(2, 1, "a"), (3, 2, "b"), (4, 1, "c")]),
        };
        assert_eq!(directories.path(3, "f").as_deref(), Some("a/b/f"));
        assert_eq!(directories.path(1, "f").as_deref(), Some("f"));
        assert_eq!(directories.path(9, "f"), None);
        let is = |id| id == 2;
        let mut within = Within::of(&directories, &is);
        for _ in 0..2 {
            assert!([2, 3].into_iter().all(|id| within.has(id)));
            assert!(![1, 4, 9].into_iter().any(|id| within.has(id)));
        }
    }
}
