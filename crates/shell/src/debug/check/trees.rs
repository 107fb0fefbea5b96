//! Trees of buckets of layout FILE_SYSTEM_OPTIMIZED: entries whose parent directory is missing.

use metastore::{IterRange, OfflineStore};
use namespace::{Bucket, Reach, Reaches, Table, tables};
use prost::Message;
use proto::ozone::{BucketInfo, DirectoryInfo, KeyInfo, VolumeInfo};
use serde_json::json;

use super::findings::{Findings, Kind};
use super::rows::{for_each_message, shown};
use crate::ShellError;

/// Checks all trees.
///
/// # Errors
/// If the database cannot be read.
pub(super) fn check(store: &OfflineStore, findings: &mut Findings) -> Result<(), ShellError> {
    let mut buckets = Vec::new();
    let table = Table::BucketTable;
    for_each_message(store, table, IterRange::all(), findings, |_, info: BucketInfo, _| {
        buckets.push(info);
    })?;
    for info in buckets {
        let volume =
            store.get(Table::VolumeTable.name(), &tables::volume_key(&info.volume_name))?;
        let volume = volume.and_then(|row| VolumeInfo::decode(row.as_slice()).ok());
        let bucket = Bucket::new(info).in_volume(volume.and_then(|volume| volume.object_id));
        if !bucket.is_tree() || bucket.is_link() {
            continue;
        }
        if let (Some(volume), Some(id)) = (bucket.volume_id(), bucket.object_id) {
            let name = format!("/{}/{}", bucket.volume_name, bucket.bucket_name);
            check_tree(store, &name, id, &tables::tree_prefix(volume, id), findings)?;
        }
    }
    Ok(())
}

fn check_tree(
    store: &OfflineStore,
    bucket: &str,
    id: u64,
    tree: &[u8],
    findings: &mut Findings,
) -> Result<(), ShellError> {
    let range = || IterRange::prefix(tree);
    let (mut directories, mut deleted) = (Vec::new(), Vec::new());
    let table = Table::DirectoryTable;
    for_each_message(store, table, range(), findings, |row, entry: DirectoryInfo, findings| {
        match parent_of(tree, row) {
            Some(parent) => directories.push((entry.object_id, parent)),
            None => findings.damaged(table.name(), row, "its key has no directory"),
        }
    })?;
    let table = Table::DeletedDirectoryTable;
    for_each_message(store, table, range(), findings, |_, entry: KeyInfo, _| {
        deleted.extend(entry.object_id);
    })?;
    let mut reaches = Reaches::new(id, directories, deleted);
    let mut is_orphan = |row: &[u8]| {
        parent_of(tree, row).is_some_and(|p| reaches.of_entry_in(p) == Reach::Orphaned)
    };
    let table = Table::DirectoryTable;
    for_each_message(store, table, range(), findings, |row, entry: DirectoryInfo, findings| {
        if is_orphan(row) {
            let about = json!({ "bucket": bucket, "row": shown(row), "name": entry.name });
            findings.add(Kind::DirectoryWithoutItsParent, about);
        }
    })?;
    let table = Table::FileTable;
    for_each_message(store, table, range(), findings, |row, file: KeyInfo, findings| {
        if is_orphan(row) {
            let (name, bytes) = (&file.key_name, file.data_size);
            let about =
                json!({ "bucket": bucket, "row": shown(row), "name": name, "bytes": bytes });
            findings.add(Kind::FileWithoutItsParent, about);
        }
    })
}

/// The object id of the parent directory of a row.
fn parent_of(tree: &[u8], row: &[u8]) -> Option<u64> {
    let id = row.strip_prefix(tree)?.split(|byte| *byte == b'/').next()?;
    std::str::from_utf8(id).ok()?.parse::<i64>().ok().map(i64::cast_unsigned)
}
