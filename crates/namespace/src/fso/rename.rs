//! Renaming in a tree: one row moves, regardless of its children.

use std::sync::Arc;

use proto::ozone::{DirectoryInfo, KeyInfo};

use crate::error::OmError;
use crate::state::effect::Effect;
use crate::state::key_row::hsync;
use crate::state::row;
use crate::state::tree::find::{Entry, find};
use crate::state::tree::lookup::lookup;
use crate::state::tree::{Tree, path};
use crate::tables::Table;

/// One rename within a tree.
pub(crate) struct Pair<'a> {
    pub from: &'a str,
    pub to: &'a str,
    /// The leader's time, if the request has a field for it.
    pub now: Option<u64>,
    pub index: u64,
}

/// Target of the rename.
struct Target<'a> {
    parent_id: u64,
    name: &'a str,
    /// `None` when that is the bucket.
    parent: Option<Arc<DirectoryInfo>>,
}

/// Result of a rename.
pub(crate) struct Renamed {
    pub effects: Vec<Effect>,
    /// The bucket is the parent of one of the ends: its modification time is the rename's.
    pub touches_bucket: bool,
}

/// The effects of a rename.
pub(crate) fn rename(
    tree: &Tree<'_>,
    pair: &Pair<'_>,
    not_found: OmError,
) -> Result<Renamed, OmError> {
    let source = find(tree, pair.from)?.ok_or(not_found)?;
    if let Entry::File(file) = &source.entry
        && hsync::writer(file).is_some()
    {
        return Err(OmError::RenameOpenFile(pair.from.to_owned()));
    }
    let failed = |why: &str| {
        OmError::KeyRename(format!("Failed to rename {} to {}, {why}", pair.from, pair.to))
    };
    let is_directory = matches!(source.entry, Entry::Directory(_));
    if is_directory && is_within(pair.to, pair.from) {
        return Err(failed("Cannot rename a directory to its own subdirectory"));
    }
    let target = lookup(tree, pair.to)?;
    let Some(parent_id) = target.parent_id() else {
        let (to, parent) = (pair.to, path::split(pair.to).0);
        return Err(OmError::KeyRename(match target.is_blocked(tree)? {
            true => format!("Failed to rename {} to {to}, {parent} is a file", pair.from),
            false => format!("Failed to get parent dir {to}, {parent} doesn't exist"),
        }));
    };
    // Into an existing directory, under its current name.
    let target = match tree.directory(parent_id, target.leaf)? {
        Some(directory) if pair.from != pair.to => Target {
            parent_id: directory.object_id,
            name: path::split(pair.from).1,
            parent: Some(directory),
        },
        _ => Target { parent_id, name: target.leaf, parent: target.nearest },
    };
    let (parent_id, name) = (target.parent_id, target.name);
    if tree.directory(parent_id, name)?.is_some() || tree.has_file(parent_id, name)? {
        return Err(OmError::KeyExists(format!(
            "Failed to rename {} to {}, file already exists or not empty!",
            pair.from, pair.to
        )));
    }
    let row = tree.row(parent_id, name);
    let mut effects = Vec::with_capacity(4);
    match source.entry {
        Entry::Directory(directory) => {
            let mut moved = DirectoryInfo::clone(&directory);
            name.clone_into(&mut moved.name);
            moved.parent_id = parent_id;
            moved.update_id = pair.index;
            effects.push(Effect::Delete { table: Table::DirectoryTable, key: source.row });
            effects.push(put(Table::DirectoryTable, row, &moved));
        }
        Entry::File(mut file) => {
            name.clone_into(&mut file.key_name);
            file.parent_id = Some(parent_id);
            file.modification_time = pair.now.unwrap_or(file.modification_time);
            file.update_id = Some(pair.index);
            effects.push(Effect::Delete { table: Table::FileTable, key: source.row });
            effects.push(put::<KeyInfo>(Table::FileTable, row, &file));
        }
    }
    let mut touches_bucket = false;
    let (from, to) = (source.parent, target.parent);
    let same = from.as_ref().map(|d| d.object_id) == to.as_ref().map(|d| d.object_id);
    for parent in [Some(from), (!same).then_some(to)].into_iter().flatten() {
        match (parent, pair.now) {
            (Some(parent), Some(now)) => effects.push(touch(tree, &parent, now, pair.index)),
            (None, Some(_)) => touches_bucket = true,
            (_, None) => {}
        }
    }
    Ok(Renamed { effects, touches_bucket })
}

fn put<M: prost::Message>(table: Table, key: Vec<u8>, message: &M) -> Effect {
    Effect::Put { table, key, value: row::encode(message) }
}

/// A directory in which something was renamed.
fn touch(tree: &Tree<'_>, directory: &Arc<DirectoryInfo>, now: u64, index: u64) -> Effect {
    let mut touched = DirectoryInfo::clone(directory);
    touched.modification_time = now;
    touched.update_id = index;
    let row = tree.row(directory.parent_id, &directory.name);
    put(Table::DirectoryTable, row, &touched)
}

/// Returns `true` if `path` is below `directory`.
fn is_within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}
