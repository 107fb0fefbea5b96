//! Tables with deletions, and their boundaries of ranges.
//!
//! Rows of flat tables begin with `/volume/bucket/`, rows of trees with `/volumeId/bucketId/` and
//! the id of the directory. Remains of a deleted bucket count to the bucket before it.

use std::collections::HashMap;
use std::ops::ControlFlow;

use metastore::Table as StoreTable;
use metastore::compaction::{Cut, TablePlan};
use namespace::{Table, View, ViewError};
use prost::Message;
use proto::ozone::{BucketInfo, BucketLayoutProto, VolumeInfo};

use crate::state::Tables;
use crate::state::column_families::{RETRY_TABLE, stored};

/// Tables whose rows begin with the names of volume and bucket.
const FLAT: [Table; 5] = [
    Table::KeyTable,
    Table::DeletedTable,
    Table::OpenKeyTable,
    Table::MultipartInfoTable,
    Table::SnapshotRenamedTable,
];
/// Tables whose rows begin with the ids of volume, bucket and directory.
const TREE: [Table; 4] =
    [Table::FileTable, Table::DirectoryTable, Table::DeletedDirectoryTable, Table::OpenFileTable];
/// Slashes up to the end of a directory's id.
const TREE_DEPTH: usize = 4;

/// Every table that takes deletions.
pub(super) fn all() -> impl Iterator<Item = StoreTable> {
    let ozones = FLAT.into_iter().chain(TREE).chain([Table::MultipartPartsTable]);
    ozones.map(stored).chain([StoreTable::named(RETRY_TABLE)])
}

/// Ranges of one of them.
pub(super) fn plan<'a>(tables: &'a Tables, table: StoreTable) -> TablePlan<'a> {
    let flat = FLAT.iter().any(|t| t.name() == table.name());
    let tree = TREE.iter().any(|t| t.name() == table.name());
    let cut = Cut { merge: !tree, align: if tree { directory } else { <[u8]>::len } };
    let starts = match (flat, tree) {
        (true, _) => flat_buckets(tables),
        (_, true) => tree_buckets(tables),
        _ => Ok(Vec::new()),
    };
    let starts = starts.unwrap_or_else(|error| {
        // Without its buckets a table is one group.
        tracing::warn!(%error, table = table.name(), "dividing a table into ranges without its buckets");
        Vec::new()
    });
    TablePlan { table, cut, groups: Box::new(starts.into_iter()) }
}

/// The length of the part of a row's key that names its directory.
fn directory(key: &[u8]) -> usize {
    let slashes = key.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| at + 1).nth(TREE_DEPTH - 1).unwrap_or(key.len())
}

/// `/volume/bucket/` of every bucket, ascending.
fn flat_buckets(tables: &Tables) -> Result<Vec<Vec<u8>>, ViewError> {
    let mut starts = Vec::new();
    tables.scan(Table::BucketTable, b"", None, &mut |key, _| {
        starts.push([key, b"/"].concat());
        ControlFlow::Continue(())
    })?;
    // The slash sorts after characters that names may have.
    starts.sort_unstable();
    Ok(starts)
}

/// `/volumeId/bucketId/` of every bucket that is a tree, ascending.
fn tree_buckets(tables: &Tables) -> Result<Vec<Vec<u8>>, ViewError> {
    let mut volumes = HashMap::new();
    tables.scan(Table::VolumeTable, b"", None, &mut |_, value| {
        if let Ok(volume) = VolumeInfo::decode(value) {
            volumes.insert(volume.volume, volume.object_id.unwrap_or_default());
        }
        ControlFlow::Continue(())
    })?;
    let mut starts = Vec::new();
    tables.scan(Table::BucketTable, b"", None, &mut |_, value| {
        let bucket = BucketInfo::decode(value).unwrap_or_default();
        let tree = bucket.bucket_layout() == BucketLayoutProto::FileSystemOptimized;
        if let (true, Some(volume), Some(id)) =
            (tree, volumes.get(&bucket.volume_name), bucket.object_id)
        {
            starts.push(tree_bucket(*volume, id));
        }
        ControlFlow::Continue(())
    })?;
    starts.sort_unstable();
    Ok(starts)
}

fn tree_bucket(volume: u64, bucket: u64) -> Vec<u8> {
    format!("/{}/{}/", volume.cast_signed(), bucket.cast_signed()).into_bytes()
}

/// Prefix of the rows of a bucket in a table; `None` if they have none, or there is no such bucket.
pub(super) fn bucket_prefix(
    tables: &Tables,
    table: StoreTable,
    volume: &str,
    bucket: &str,
) -> Result<Option<Vec<u8>>, ViewError> {
    if FLAT.iter().any(|t| t.name() == table.name()) {
        return Ok(Some(format!("/{volume}/{bucket}/").into_bytes()));
    }
    if !TREE.iter().any(|t| t.name() == table.name()) {
        return Ok(None);
    }
    let found = tables.bucket(&namespace::tables::bucket_key(volume, bucket))?;
    Ok(found.and_then(|bucket| {
        let (volume, id) = (bucket.volume_id()?, bucket.object_id?);
        Some(tree_bucket(volume, id))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_tree_is_cut_behind_its_directory() {
        let cut = |key: &str| key[..directory(key.as_bytes())].to_owned();
        assert_eq!(cut("/-9/-8/-7/name"), "/-9/-8/-7/");
        assert_eq!(cut("/-9/-8/-7/"), "/-9/-8/-7/");
        assert_eq!(cut("/-9/-8/-7"), "/-9/-8/-7");
        assert_eq!(cut(""), "");
    }

    #[test]
    fn every_table_that_takes_deletions_is_named_once() {
        let mut names: Vec<&str> = all().map(|table| table.name()).collect();
        assert_eq!(names.len(), 11);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 11);
    }
}
