//! Deleting from a tree: a file's blocks become garbage; a directory moves, with all that is in
//! it, to the deletedDirectoryTable by its one row, and is taken apart in the background.

use proto::ozone::KeyArgs;

use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::key_row::remove::{CommittedRow, remove};
use crate::state::key_row::{KeyTables, atomic};
use crate::state::row::Bucket;
use crate::state::tree::find::{Entry, Found, find};
use crate::state::tree::{Tree, directory, path};
use crate::tables::{self, Table};

/// Longest name of an entry that is deleted with its directory. It is for people: ids identify
/// rows.
const LONGEST_NAME: usize = 4_096;

/// Name of entry `name` in a deleted directory, given the name of the directory: its path, or its
/// name alone where the path is long. In a tree that is taken apart level by level, whole paths
/// would be as many bytes as the square of its depth.
pub fn name_in_deleted(directory: &str, name: &str) -> String {
    let length = directory.len().saturating_add(1).saturating_add(name.len());
    if length > LONGEST_NAME { name.to_owned() } else { path::join(directory, name) }
}

/// DeleteKey.
pub(crate) fn delete(
    cx: &mut ApplyContext<'_>,
    mut bucket: Bucket,
    args: &KeyArgs,
) -> Result<(), OmError> {
    let tree = Tree::of(cx.view, &bucket)?;
    let found = find(&tree, &args.key_name)?.ok_or_else(|| {
        OmError::KeyNotFound(format!(
            "Unable to get file status: volume: {} bucket: {} key: {}",
            args.volume_name, args.bucket_name, args.key_name
        ))
    })?;
    match &found.entry {
        Entry::File(file) => {
            atomic::check(args, Some(file))?;
        }
        Entry::Directory(directory) => {
            if args.recursive != Some(true) && tree.has_children(directory.object_id)? {
                return Err(OmError::DirectoryNotEmpty(args.key_name.clone()));
            }
        }
    }
    remove_found(cx, &mut bucket, found, &args.key_name)?;
    let key = tables::bucket_key(&args.volume_name, &args.bucket_name);
    cx.put_bucket(key, bucket);
    Ok(())
}

/// Removes the found entry from the tree and its bucket's counters.
pub(crate) fn remove_found(
    cx: &mut ApplyContext<'_>,
    bucket: &mut Bucket,
    found: Found,
    path: &str,
) -> Result<(), OmError> {
    let path = path::normalize(path);
    match found.entry {
        Entry::File(file) => {
            let named = tables::object_key(&bucket.volume_name, &bucket.bucket_name, &path);
            let row = CommittedRow {
                key_tables: KeyTables::Tree,
                key: found.row,
                object_key: Some(named),
            };
            remove(cx, bucket, row, *file)
        }
        Entry::Directory(entry) => {
            let mut deleted = directory::as_key(&entry, bucket, path.into_owned());
            deleted.update_id = Some(cx.tx.index);
            let row = tables::deleted_directory_key(&found.row, entry.object_id);
            cx.put(Table::DeletedDirectoryTable, row, &deleted);
            cx.delete(Table::DirectoryTable, found.row);
            bucket.used_namespace = bucket.used_namespace.saturating_sub(1);
            Ok(())
        }
    }
}
