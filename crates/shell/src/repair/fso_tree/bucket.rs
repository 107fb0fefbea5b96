//! The tree of one bucket.

use metastore::{IterRange, OfflineChange, OfflineStore};
use namespace::{
    Bucket, OrphanChange, Reach, Reaches, Table, delete_orphaned_directory, delete_orphaned_file,
    tables,
};
use proto::ozone::{DirectoryInfo, KeyInfo};

use super::super::Care;
use super::report::Report;
use super::tables::{decode, for_each};
use crate::ShellError;

/// Minimum number of rows per batch.
const BATCH: usize = 1_000;

/// Counts the entries of a bucket; deletes the orphaned ones, unless it is a dry run.
///
/// # Errors
/// If the database cannot be read or written, or a row is malformed. Earlier deletions persist.
pub(super) fn repair(
    store: &OfflineStore,
    bucket: Bucket,
    care: &Care,
    report: &mut Report,
) -> Result<(), ShellError> {
    let (Some(volume), Some(id)) = (bucket.volume_id(), bucket.object_id) else {
        let (volume, name) = (&bucket.volume_name, &bucket.bucket_name);
        return Err(ShellError::Refused(format!("/{volume}/{name} has no object id")));
    };
    let tree = tables::tree_prefix(volume, id);
    let mut reaches = reaches(store, id, &tree)?;
    let mut batch = Batch { store, bucket, changes: Vec::new(), is_dry: care.dry_run };
    let range = || IterRange::prefix(tree.clone());
    for_each(store, Table::DirectoryTable, range(), |key, value| {
        let entry: DirectoryInfo = decode(Table::DirectoryTable, key, value)?;
        let reach = reaches.of_entry_in(parent_of(Table::DirectoryTable, &tree, key)?);
        report.count_directory(reach);
        if reach == Reach::Orphaned {
            let shown = String::from_utf8_lossy(key);
            care.say(&format!("Deleting orphaned directory {shown}"))?;
            let deleted = delete_orphaned_directory(&mut batch.bucket, key.to_vec(), &entry);
            batch.add(deleted)?;
        }
        Ok(())
    })?;
    for_each(store, Table::FileTable, range(), |key, value| {
        let file: KeyInfo = decode(Table::FileTable, key, value)?;
        let reach = reaches.of_entry_in(parent_of(Table::FileTable, &tree, key)?);
        report.count_file(reach, file.data_size);
        if reach == Reach::Orphaned {
            let shown = String::from_utf8_lossy(key);
            match delete_orphaned_file(&mut batch.bucket, key.to_vec(), file) {
                Some(deleted) => {
                    care.say(&format!("Deleting orphaned file {shown}"))?;
                    batch.add(deleted)?;
                }
                None => {
                    care.say(&format!("Skipping orphaned file {shown}: it is being written"))?
                }
            }
        }
        Ok(())
    })?;
    batch.write()
}

/// The reachable directories of a bucket.
fn reaches(store: &OfflineStore, bucket: u64, tree: &[u8]) -> Result<Reaches, ShellError> {
    let range = || IterRange::prefix(tree);
    let (mut directories, mut deleted) = (Vec::new(), Vec::new());
    for_each(store, Table::DirectoryTable, range(), |key, value| {
        let entry: DirectoryInfo = decode(Table::DirectoryTable, key, value)?;
        directories.push((entry.object_id, parent_of(Table::DirectoryTable, tree, key)?));
        Ok(())
    })?;
    for_each(store, Table::DeletedDirectoryTable, range(), |key, value| {
        let entry: KeyInfo = decode(Table::DeletedDirectoryTable, key, value)?;
        deleted.extend(entry.object_id);
        Ok(())
    })?;
    Ok(Reaches::new(bucket, directories, deleted))
}

/// The object id of the parent directory of a row, which is a part of its key.
fn parent_of(table: Table, tree: &[u8], key: &[u8]) -> Result<u64, ShellError> {
    let parent = key.strip_prefix(tree).and_then(|rest| rest.split(|byte| *byte == b'/').next());
    let parent = parent.and_then(|id| std::str::from_utf8(id).ok()?.parse::<i64>().ok());
    parent.map(i64::cast_unsigned).ok_or_else(|| {
        let key = String::from_utf8_lossy(key);
        ShellError::Refused(format!("row {key} of {} has no directory", table.name()))
    })
}

/// Pending changes of the database; each batch includes the bucket's row with its counts.
struct Batch<'a> {
    store: &'a OfflineStore,
    bucket: Bucket,
    changes: Vec<OfflineChange>,
    is_dry: bool,
}

impl Batch<'_> {
    fn add(&mut self, changes: Vec<OrphanChange>) -> Result<(), ShellError> {
        self.changes.extend(changes.into_iter().map(|(table, key, change)| {
            let table = table.name().to_owned();
            match change.value() {
                Some(value) => OfflineChange::Put { table, key, value: value.into() },
                None => OfflineChange::Delete { table, key },
            }
        }));
        if self.changes.len() >= BATCH { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), ShellError> {
        if self.changes.is_empty() || self.is_dry {
            self.changes.clear();
            return Ok(());
        }
        self.changes.push(OfflineChange::Put {
            table: Table::BucketTable.name().to_owned(),
            key: tables::bucket_key(&self.bucket.volume_name, &self.bucket.bucket_name),
            value: self.bucket.encode().into(),
        });
        self.store.write(&self.changes)?;
        self.changes.clear();
        Ok(())
    }
}
