//! Entries of a tree whose directory is missing, for `repair om fso-tree`: their detection, and
//! their move to the garbage. Ozone: `FSORepairTool`.
//!
//! No command leaves such entries: this module is for tables that were damaged from outside.

use bytes::Bytes;
use proto::ozone::{DirectoryInfo, KeyInfo, RepeatedKeyInfo};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::state::key_row::{garbage, hsync};
use crate::state::overlay::RowChange;
use crate::state::row::{self, Bucket};
use crate::state::tree::directory;
use crate::state::usage;
use crate::tables::{self, Table};

/// Place of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// In the tree: its directories lead to the bucket.
    Reachable,
    /// Its directories lead to a deleted one, which is taken apart in the background.
    Deleted,
    /// Its directories lead nowhere.
    Orphaned,
}

/// The directories of a bucket, and where each of them belongs. All are in memory, as numbers.
#[derive(Debug)]
pub struct Reaches {
    bucket: u64,
    deleted: FxHashSet<u64>,
    parents: FxHashMap<u64, u64>,
    known: FxHashMap<u64, Reach>,
}

impl Reaches {
    /// Of a bucket with that object id; `directories` are the object ids of its directories, each
    /// with that of its parent, and `deleted` those of the directories that were deleted.
    pub fn new(
        bucket: u64,
        directories: impl IntoIterator<Item = (u64, u64)>,
        deleted: impl IntoIterator<Item = u64>,
    ) -> Self {
        Self {
            bucket,
            deleted: deleted.into_iter().collect(),
            parents: directories.into_iter().collect(),
            known: FxHashMap::default(),
        }
    }

    /// Place of an entry of the directory with that object id.
    pub fn of_entry_in(&mut self, parent: u64) -> Reach {
        let mut way = Vec::new();
        let mut at = parent;
        let reach = loop {
            if at == self.bucket {
                break Reach::Reachable;
            }
            if self.deleted.contains(&at) {
                break Reach::Deleted;
            }
            if let Some(known) = self.known.get(&at) {
                break *known;
            }
            // Directories that lead to each other are orphaned: a directory met again has this
            // result.
            self.known.insert(at, Reach::Orphaned);
            way.push(at);
            match self.parents.get(&at) {
                Some(parent) => at = *parent,
                None => break Reach::Orphaned,
            }
        };
        self.known.extend(way.into_iter().map(|directory| (directory, reach)));
        reach
    }
}

/// A row that changes.
pub type OrphanChange = (Table, Vec<u8>, RowChange);

/// Deletes the directory at `row`: its children are deleted in the background.
pub fn delete_orphaned_directory(
    bucket: &mut Bucket,
    row: Vec<u8>,
    entry: &DirectoryInfo,
) -> Vec<OrphanChange> {
    bucket.used_namespace = bucket.used_namespace.saturating_sub(1);
    let deleted = directory::as_key(entry, bucket, entry.name.clone());
    let key = tables::deleted_directory_key(&row, entry.object_id);
    vec![
        put(Table::DeletedDirectoryTable, key, row::encode(&deleted)),
        (Table::DirectoryTable, row, RowChange::Deleted),
    ]
}

/// Deletes the file at `row`, whose blocks are garbage then. `None` where a client is still writing
/// it: recovering its lease ends that.
pub fn delete_orphaned_file(
    bucket: &mut Bucket,
    row: Vec<u8>,
    file: KeyInfo,
) -> Option<Vec<OrphanChange>> {
    if hsync::writer(&file).is_some() {
        return None;
    }
    let has_blocks = garbage::has_blocks(&file);
    usage::release_to_deleted(bucket, usage::replicated_size(&file), has_blocks);
    bucket.used_namespace = bucket.used_namespace.saturating_sub(1);
    let mut changes = vec![(Table::FileTable, row, RowChange::Deleted)];
    if has_blocks {
        // Its path is unknown, its name is known.
        let named = tables::object_key(&bucket.volume_name, &bucket.bucket_name, &file.key_name);
        let key = tables::deleted_key(&named, file.object_id.unwrap_or_default());
        let update_id = file.update_id.unwrap_or_default();
        let versions = vec![garbage::committed(file, update_id)];
        let value = RepeatedKeyInfo { key_info: versions, bucket_id: bucket.object_id };
        changes.push(put(Table::DeletedTable, key, row::encode(&value)));
    }
    Some(changes)
}

fn put(table: Table, key: Vec<u8>, value: Bytes) -> OrphanChange {
    (table, key, RowChange::Put(value))
}

#[cfg(test)]
mod tests {
    use proto::ozone::{BucketInfo, KeyLocation, KeyLocationList};

    use super::*;
    use crate::state::metadata;

    #[test]
    fn entries_belong_where_their_directories_lead() {
        // 1 is the bucket, 9 a deleted directory, 7 does not exist, 20 and 21 lead to each other.
        let directories = [(2, 1), (3, 2), (4, 9), (5, 4), (6, 7), (8, 6), (20, 21), (21, 20)];
        let wanted = [
            (1, Reach::Reachable),
            (3, Reach::Reachable),
            (9, Reach::Deleted),
            (5, Reach::Deleted),
            (7, Reach::Orphaned),
            (8, Reach::Orphaned),
            (20, Reach::Orphaned),
            (21, Reach::Orphaned),
        ];
        for turned in [false, true] {
            let mut reaches = Reaches::new(1, directories, [9]);
            let mut wanted = wanted;
            if turned {
                wanted.reverse();
            }
            for (parent, reach) in wanted {
                assert_eq!(reaches.of_entry_in(parent), reach, "in {parent}");
                assert_eq!(reaches.of_entry_in(parent), reach, "in {parent}, a second time");
            }
        }
    }

    fn bucket() -> Bucket {
        Bucket::new(BucketInfo {
            volume_name: "vol".into(),
            bucket_name: "fso".into(),
            object_id: Some(1),
            used_bytes: Some(300),
            used_namespace: Some(5),
            ..BucketInfo::default()
        })
    }

    #[test]
    fn what_is_deleted_counts_as_deleted() {
        let mut bucket = bucket();
        let entry =
            DirectoryInfo { name: "d".into(), object_id: 6, parent_id: 7, ..Default::default() };
        let row = b"/2/1/7/d".to_vec();
        let changes = delete_orphaned_directory(&mut bucket, row.clone(), &entry);
        assert_eq!(changes[0].1, b"/2/1/7/d/6");
        assert_eq!(changes[1], (Table::DirectoryTable, row, RowChange::Deleted));

        let blocks = KeyLocationList {
            key_locations: vec![KeyLocation::default()],
            ..KeyLocationList::default()
        };
        let file = KeyInfo {
            key_name: "f".into(),
            data_size: 100,
            object_id: Some(8),
            key_location_list: vec![blocks],
            ..KeyInfo::default()
        };
        let row = b"/2/1/6/f".to_vec();
        let changes = delete_orphaned_file(&mut bucket, row.clone(), file.clone()).unwrap();
        assert_eq!(changes[0], (Table::FileTable, row.clone(), RowChange::Deleted));
        assert_eq!(
            (changes[1].0, changes[1].1.as_slice()),
            (Table::DeletedTable, &b"/vol/fso/f/8"[..])
        );
        assert_eq!((bucket.used_namespace, bucket.used_bytes), (3, 200));
        assert_eq!((bucket.snapshot_used_namespace, bucket.snapshot_used_bytes), (1, 100));

        let empty = KeyInfo { key_location_list: Vec::new(), data_size: 0, ..file };
        assert_eq!(delete_orphaned_file(&mut bucket, row, empty).unwrap().len(), 1);
        assert_eq!((bucket.used_namespace, bucket.snapshot_used_namespace), (2, 1));
    }

    #[test]
    fn a_file_that_is_being_written_stays() {
        let mut bucket = bucket();
        let mut file = KeyInfo { key_name: "f".into(), data_size: 100, ..KeyInfo::default() };
        metadata::set_str(&mut file.metadata, metadata::HSYNC_CLIENT_ID, &hsync::session(u64::MAX));
        let before = bucket.clone();
        assert!(delete_orphaned_file(&mut bucket, b"/2/1/6/f".to_vec(), file).is_none());
        assert_eq!(bucket, before);
    }
}
