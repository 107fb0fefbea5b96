//! Changes between two snapshots of a bucket: the rows with entries in the layers in between, at
//! either end. The cost is that of the changes, not of the keys; in a FILE_SYSTEM_OPTIMIZED bucket
//! the names of directories are read besides, for unchanged parents of changed entries.
//!
//! Ids identify objects, as in Ozone: an id at one end only was created or deleted, one with
//! another row was renamed.

mod directories;
mod ends;
mod same;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use proto::ozone::diff_report_entry_proto::DiffTypeProto;
use proto::ozone::{DiffReportEntryProto, DirectoryInfo, KeyInfo};

use self::directories::{Directories, Within};
pub use self::ends::{FoundEnds, diff_bucket, diff_ends};
use super::find;
use crate::error::OmError;
use crate::state::find::bucket;
use crate::state::layers::as_of::AsOf;
use crate::state::layers::{rows, scope};
use crate::state::row;
use crate::state::tree::Tree;
use crate::state::view::View;
use crate::tables::{Table, object_key};

/// A diff that was not made.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// The snapshots cannot be read.
    #[error(transparent)]
    Om(#[from] OmError),
    /// More rows changed than a diff may have.
    #[error(
        "Expected diff contains more than max allowed key changes for a snapDiff job. AllowMaxTotalKeys: {0}."
    )]
    TooMany(usize),
    /// The paths of changed entries are more bytes than a diff may have.
    #[error("the names in the diff are more than {0} bytes: make it of snapshots that differ less")]
    TooLong(usize),
    /// No client requests it any more.
    #[error("cancelled")]
    Cancelled,
}

/// Bytes of all names in a report: it is in memory, and paths may be very long.
const MOST_NAME_BYTES: usize = 1 << 30;

/// Compared snapshots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiffEnds {
    /// Volume, links resolved.
    pub volume: String,
    /// Bucket, links resolved.
    pub bucket: String,
    /// Name of the snapshot that the changes begin at.
    pub from: String,
    /// Name of the snapshot that they lead to.
    pub to: String,
}

/// A file, key or directory that changed.
struct Object {
    table: Table,
    key: Vec<u8>,
    parent_id: u64,
    kind: Kind,
}

enum Kind {
    Key(Box<KeyInfo>),
    Directory(Box<DirectoryInfo>),
}

/// Objects of one end by id.
type Objects = BTreeMap<u64, Object>;

/// The changes, in the order in which they can be carried out: deletions, renames, creations,
/// modifications; each by the ids of the objects.
///
/// `view` shows all tables as of one moment. `most` rows may have changed; `goes_on` is asked now
/// and then.
///
/// # Errors
/// When a snapshot does not exist, too much changed, or `goes_on` returned `false`.
pub fn diff(
    view: &dyn View,
    ends: &DiffEnds,
    most: usize,
    goes_on: &dyn Fn() -> bool,
) -> Result<Vec<DiffReportEntryProto>, DiffError> {
    let DiffEnds { volume, bucket, from, to } = ends;
    let from = find::readable(view, volume, bucket, from)?;
    let to = find::readable(view, volume, bucket, to)?;
    let bucket = bucket::find(view, volume, bucket)?;
    let changed = changed(view, &scope(view, &bucket)?, (from.min(to), from.max(to)), most)?;
    let (old, new) = (AsOf::new(view, from), AsOf::new(view, to));
    let (mut before, mut after) = (Objects::new(), Objects::new());
    for (number, (tag, key)) in changed.into_iter().enumerate() {
        if number % 1024 == 0 && !goes_on() {
            return Err(DiffError::Cancelled);
        }
        let Some(table) = rows::table(tag) else { continue };
        let was = old.get(table, &key).map_err(OmError::from)?;
        let is = new.get(table, &key).map_err(OmError::from)?;
        if was == is {
            continue;
        }
        for (value, objects) in [(was, &mut before), (is, &mut after)] {
            if let Some(value) = value {
                let (id, object) = object(table, key.clone(), value)?;
                objects.insert(id, object);
            }
        }
    }
    if !goes_on() {
        return Err(DiffError::Cancelled);
    }
    let prefix = object_key(volume, &bucket.bucket_name, "").len();
    let (old_tree, new_tree) = match bucket.is_tree() {
        true => (Some(Tree::of(&old, &bucket)?), Some(Tree::of(&new, &bucket)?)),
        false => (None, None),
    };
    let names = Names {
        old: Directories::of(old_tree.as_ref(), &before)?,
        new: Directories::of(new_tree.as_ref(), &after)?,
        prefix,
    };
    report(&before, &after, &names)
}

/// The rows that layers from `range.0` to before `range.1` have something of.
fn changed(
    view: &dyn View,
    scope: &[u8],
    range: (u64, u64),
    most: usize,
) -> Result<BTreeSet<(u8, Vec<u8>)>, DiffError> {
    let chains = view.snapshots().map_err(OmError::from)?;
    let mut changed = BTreeSet::new();
    let layers = chains.of(scope).iter().map(|layer| layer.index);
    for index in layers.filter(|index| (range.0..range.1).contains(index)) {
        let (start, end) = rows::layer_range(index);
        let table = Table::SnapshotChangeTable;
        let scanned = view.scan(table, &start, end.as_deref(), &mut |key, _| {
            if let Some((_, tag, key)) = rows::split_change_key(key) {
                changed.insert((tag, key.to_vec()));
            }
            if changed.len() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        scanned.map_err(OmError::from)?;
        if changed.len() > most {
            return Err(DiffError::TooMany(most));
        }
    }
    Ok(changed)
}

fn object(table: Table, key: Vec<u8>, value: bytes::Bytes) -> Result<(u64, Object), OmError> {
    if table == Table::DirectoryTable {
        let info: DirectoryInfo = row::decode(table, &key, value)?;
        let (id, parent_id) = (info.object_id, info.parent_id);
        return Ok((id, Object { table, key, parent_id, kind: Kind::Directory(Box::new(info)) }));
    }
    let info: KeyInfo = row::decode(table, &key, value)?;
    let (id, parent_id) = (info.object_id.unwrap_or_default(), info.parent_id());
    Ok((id, Object { table, key, parent_id, kind: Kind::Key(Box::new(info)) }))
}

/// Names of objects at either end.
struct Names {
    old: Directories,
    new: Directories,
    /// Bytes before the name in the key of a row that is named after a key.
    prefix: usize,
}

impl Names {
    /// Returns `true` if an object exists, and not below a deleted directory.
    fn has(directories: &Directories, object: &Object) -> bool {
        object.table == Table::KeyTable || directories.has(object.parent_id)
    }

    /// The path of an object; `None` when it is below a directory that is deleted.
    fn of(&self, directories: &Directories, object: &Object) -> Option<String> {
        if object.table == Table::KeyTable {
            let name = object.key.get(self.prefix..).unwrap_or_default();
            let name = String::from_utf8_lossy(name);
            return Some(name.trim_end_matches('/').to_owned());
        }
        let name = match &object.kind {
            Kind::Key(key) => &key.key_name,
            Kind::Directory(directory) => &directory.name,
        };
        directories.path(object.parent_id, name)
    }
}

/// Entries of a diff, in the order in which they can be carried out.
#[derive(Default)]
struct Report {
    deleted: Vec<DiffReportEntryProto>,
    renamed: Vec<DiffReportEntryProto>,
    created: Vec<DiffReportEntryProto>,
    modified: Vec<DiffReportEntryProto>,
    /// Bytes of all names.
    name_bytes: usize,
}

impl Report {
    fn add(
        &mut self,
        kind: DiffTypeProto,
        source: String,
        target: Option<String>,
    ) -> Result<(), DiffError> {
        let bytes = source.len().saturating_add(target.as_ref().map_or(0, String::len));
        self.name_bytes = self.name_bytes.saturating_add(bytes);
        if self.name_bytes > MOST_NAME_BYTES {
            return Err(DiffError::TooLong(MOST_NAME_BYTES));
        }
        let list = match kind {
            DiffTypeProto::Delete => &mut self.deleted,
            DiffTypeProto::Rename => &mut self.renamed,
            DiffTypeProto::Create => &mut self.created,
            DiffTypeProto::Modify => &mut self.modified,
        };
        list.push(DiffReportEntryProto {
            diff_type: Some(kind as i32),
            source_path: Some(source),
            target_path: target,
        });
        Ok(())
    }
}

fn report(
    before: &Objects,
    after: &Objects,
    names: &Names,
) -> Result<Vec<DiffReportEntryProto>, DiffError> {
    let mut report = Report::default();
    // The row of a directory that was moved into one that is deleted stays until that is purged.
    let is_visible = |id: &u64| after.get(id).is_some_and(|o| Names::has(&names.new, o));
    let gone: BTreeSet<u64> = before.keys().filter(|id| !is_visible(id)).copied().collect();
    let is_gone = |id: u64| gone.contains(&id);
    let mut within_gone = Within::of(&names.old, &is_gone);
    let ids: BTreeSet<u64> = before.keys().chain(after.keys()).copied().collect();
    for id in ids {
        let was = before.get(&id).filter(|object| Names::has(&names.old, object));
        let is = after.get(&id).filter(|object| Names::has(&names.new, object));
        // The children of a deleted directory were deleted with it.
        if is.is_none() && was.is_some_and(|was| within_gone.has(was.parent_id)) {
            continue;
        }
        let old = was.and_then(|object| names.of(&names.old, object));
        let new = is.and_then(|object| names.of(&names.new, object));
        match (old, new) {
            (Some(old), None) => report.add(DiffTypeProto::Delete, old, None)?,
            (None, Some(new)) => report.add(DiffTypeProto::Create, new, None)?,
            (Some(old), Some(new)) => {
                let (moved, differs) = match (was, is) {
                    (Some(was), Some(is)) => {
                        ((was.table, &was.key) != (is.table, &is.key), same::differs(was, is))
                    }
                    _ => (false, false),
                };
                if differs || !moved {
                    report.add(DiffTypeProto::Modify, old.clone(), None)?;
                }
                if moved {
                    report.add(DiffTypeProto::Rename, old, Some(new))?;
                }
            }
            (None, None) => {}
        }
    }
    let Report { deleted, renamed, created, modified, .. } = report;
    Ok([deleted, renamed, created, modified].concat())
}
