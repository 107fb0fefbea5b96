//! Resolution of a path.

use std::sync::Arc;

use proto::ozone::{DirectoryInfo, KeyInfo};

use super::lookup::lookup;
use super::{Tree, path};
use crate::error::OmError;

/// A file or a directory.
pub(crate) enum Entry {
    /// A file; its name is the whole path.
    File(Box<KeyInfo>),
    /// A directory.
    Directory(Arc<DirectoryInfo>),
}

/// File or directory of a name in a tree.
pub(crate) struct Found {
    /// Row key, the same in the fileTable and the directoryTable.
    pub row: Vec<u8>,
    pub entry: Entry,
    /// The directory it is in; `None` when that is the bucket.
    pub parent: Option<Arc<DirectoryInfo>>,
}

/// The file or directory at `path`. The path is not empty and without slashes too many.
pub(crate) fn find(tree: &Tree<'_>, path: &str) -> Result<Option<Found>, OmError> {
    let lookup = lookup(tree, path)?;
    let Some(parent_id) = lookup.parent_id() else { return Ok(None) };
    let row = tree.row(parent_id, lookup.leaf);
    let entry = if let Some(directory) = tree.view.directory(&row)? {
        Entry::Directory(directory)
    } else if let Some(mut file) = tree.file(parent_id, lookup.leaf)? {
        file.key_name = path::normalize(path).into_owned();
        Entry::File(Box::new(file))
    } else {
        return Ok(None);
    };
    Ok(Some(Found { row, entry, parent: lookup.nearest }))
}
