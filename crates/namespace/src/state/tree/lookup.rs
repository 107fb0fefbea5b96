//! Going down a path, directory by directory.

use std::sync::Arc;

use proto::ozone::DirectoryInfo;

use super::{Tree, path};
use crate::error::OmError;

/// The existing and missing parts of a path.
pub(crate) struct PathLookup<'p> {
    /// The deepest existing directory on the path; `None` if it is the bucket itself.
    pub nearest: Option<Arc<DirectoryInfo>>,
    /// Its object id.
    pub nearest_id: u64,
    /// Missing directories on the path, from above.
    pub missing: Vec<&'p str>,
    /// The last name; empty when the path is the bucket itself.
    pub leaf: &'p str,
}

/// Resolves `path` up to its last directory; the last name is not resolved.
pub(crate) fn lookup<'p>(tree: &Tree<'_>, path: &'p str) -> Result<PathLookup<'p>, OmError> {
    let mut names = path::names(path);
    let leaf = names.next_back().unwrap_or("");
    let mut lookup =
        PathLookup { nearest: None, nearest_id: tree.bucket_id, missing: Vec::new(), leaf };
    for name in names {
        if lookup.missing.is_empty()
            && let Some(directory) = tree.directory(lookup.nearest_id, name)?
        {
            lookup.nearest_id = directory.object_id;
            lookup.nearest = Some(directory);
        } else {
            lookup.missing.push(name);
        }
    }
    Ok(lookup)
}

impl PathLookup<'_> {
    /// The id of the directory that the last name is in, when the way there is complete.
    pub fn parent_id(&self) -> Option<u64> {
        self.missing.is_empty().then_some(self.nearest_id)
    }

    /// The beginning of `path`, which this is the lookup of, up to the first directory missing.
    pub fn first_missing<'a>(&self, path: &'a str) -> &'a str {
        // The names after it, and the slashes before them.
        let behind = self.missing.iter().skip(1).chain([&self.leaf]);
        let length: usize =
            behind.map(|name| name.len().saturating_add(1)).fold(0, usize::saturating_add);
        path.len().checked_sub(length).and_then(|end| path.get(..end)).unwrap_or(path)
    }

    /// Returns `true` if a file is at the path of a needed directory.
    pub fn is_blocked(&self, tree: &Tree<'_>) -> Result<bool, OmError> {
        match self.missing.first() {
            Some(name) => tree.has_file(self.nearest_id, name),
            None => Ok(false),
        }
    }
}
