//! Paths of directories by their ids, at one end of a diff.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use proto::ozone::DirectoryInfo;

use super::{Kind, Objects};
use crate::error::OmError;
use crate::row;
use crate::scan::try_scan;
use crate::tables::{Table, prefix_end};
use crate::tree::Tree;

/// More directories than this above one another are a circle that damaged rows make.
const DEEPEST: usize = 10_000;

/// The directories that what changed is in.
#[derive(Default)]
pub(super) struct Directories {
    /// Paths, that of the bucket itself included; empty for a bucket without directories.
    paths: HashMap<u64, String>,
    /// Parents.
    parents: HashMap<u64, u64>,
}

impl Directories {
    /// Those above `objects`.
    pub fn of(tree: Option<&Tree<'_>>, objects: &Objects) -> Result<Self, OmError> {
        let Some(tree) = tree else { return Ok(Self::default()) };
        let mut known: HashMap<u64, (u64, String)> = HashMap::new();
        for (id, object) in objects {
            if let Kind::Directory(directory) = &object.kind {
                known.insert(*id, (object.parent_id, directory.name.clone()));
            }
        }
        let wanted: HashSet<u64> = objects.values().map(|object| object.parent_id).collect();
        let open = |known: &HashMap<u64, (u64, String)>| {
            wanted.iter().any(|id| !is_resolved(*id, tree.bucket_id, known))
        };
        if open(&known) {
            let (table, prefix) = (Table::DirectoryTable, tree.prefix());
            try_scan(
                tree.view,
                table,
                prefix,
                prefix_end(prefix).as_deref(),
                &mut |key, value| {
                    let directory: DirectoryInfo = row::decode_slice(table, key, value)?;
                    known.insert(directory.object_id, (directory.parent_id, directory.name));
                    Ok(ControlFlow::Continue(()))
                },
            )?;
        }
        let mut directories = Self::default();
        directories.paths.insert(tree.bucket_id, String::new());
        for id in wanted {
            directories.resolve(id, &known);
        }
        Ok(directories)
    }

    /// Notes the path of a directory and of those above it, if it is below the bucket.
    fn resolve(&mut self, id: u64, known: &HashMap<u64, (u64, String)>) {
        let mut way = Vec::new();
        let mut at = id;
        let mut path = loop {
            if let Some(path) = self.paths.get(&at) {
                break path.clone();
            }
            let Some((parent, name)) = known.get(&at).filter(|_| way.len() < DEEPEST) else {
                return;
            };
            way.push((at, *parent, name));
            at = *parent;
        };
        for (id, parent, name) in way.into_iter().rev() {
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(name);
            self.paths.insert(id, path.clone());
            self.parents.insert(id, parent);
        }
    }

    /// The path of a directory; `None` when it is not below the bucket.
    pub fn path(&self, id: u64) -> Option<&str> {
        self.paths.get(&id).map(String::as_str)
    }

    /// Whether the directory or one above it is such a one.
    pub fn any_above(&self, id: u64, is: &dyn Fn(u64) -> bool) -> bool {
        let mut at = id;
        for _ in 0..DEEPEST {
            if is(at) {
                return true;
            }
            match self.parents.get(&at) {
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    }
}

/// Whether the way from a directory up to the bucket is known.
fn is_resolved(id: u64, bucket_id: u64, known: &HashMap<u64, (u64, String)>) -> bool {
    let mut at = id;
    for _ in 0..DEEPEST {
        match known.get(&at) {
            _ if at == bucket_id => return true,
            Some((parent, _)) => at = *parent,
            None => return false,
        }
    }
    false
}
