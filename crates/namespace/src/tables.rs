//! Every table (column family) of the OM database: its name, its key format, its value.
//!
//! | table | key | value |
//! | --- | --- | --- |
//! | volumeTable | `/vol` | VolumeInfo |
//! | bucketTable | `/vol/bucket` | BucketInfo |
//! | userTable | `user` | UserVolumeInfo |
//! | keyTable | `/vol/bucket/key` | KeyInfo |
//! | openKeyTable | `/vol/bucket/key/<clientID or uploadID>` | KeyInfo |
//! | deletedTable | `/vol/bucket/key/<objectID>` | RepeatedKeyInfo |
//! | multipartInfoTable | `/vol/bucket/key/<uploadID>` | MultipartKeyInfo, schema version 1 |
//! | multipartPartsTable | uploadID `/` part number (4 bytes, big endian) | MultipartPartInfo |
//! | fileTable | `/volumeId/bucketId/parentId/name` | KeyInfo, whose name is the last one only |
//! | openFileTable | the same with `/<clientID or uploadID>` | KeyInfo |
//! | directoryTable | `/volumeId/bucketId/parentId/name` | DirectoryInfo |
//! | deletedDirectoryTable | the same with `/<objectID>` | KeyInfo, with the whole path |
//! | s3SecretTable | access id | S3Secret |
//! | prefixTable | `/vol/bucket/prefix/` | PrefixInfo |
//! | metaTable | name | text |
//! | transactionInfoTable | `#TRANSACTIONINFO` | `term#index` |
//! | snapshotInfoTable | `/vol/bucket/snapshot` | SnapshotInfo |
//!
//! Five tables are our own, and hold the data of snapshots of buckets (`layers/`, RFC 7):
//!
//! | table | key | value |
//! | --- | --- | --- |
//! | trioxideSnapshotTable | scope, index | state, id, key of the snapshotInfoTable |
//! | trioxideSnapshotRowTable | table, row, index | the previous row, or its absence |
//! | trioxideSnapshotChangeTable | index, table, row | nothing |
//! | trioxideSnapshotGarbageTable | index, since, entry, key of the deletedTable | RepeatedKeyInfo |
//! | trioxideSnapshotUsageTable | index, index of an older one or 0 | bytes, replicated bytes |
//!
//! Ids inside keys are signed decimals, as Java prints a `long`. The multipart form is Ozone's
//! newer one (schema version 1): a part is a row of its own, so that committing part 9,999 does
//! not rewrite the 9,998 before it.

/// A table of the OM database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Table {
    VolumeTable,
    BucketTable,
    UserTable,
    KeyTable,
    OpenKeyTable,
    DeletedTable,
    MultipartInfoTable,
    MultipartPartsTable,
    S3SecretTable,
    TransactionInfoTable,
    MetaTable,
    FileTable,
    OpenFileTable,
    DirectoryTable,
    DeletedDirectoryTable,
    PrefixTable,
    DelegationTokenTable,
    SnapshotInfoTable,
    SnapshotRenamedTable,
    CompactionLogTable,
    TenantStateTable,
    TenantAccessIdTable,
    PrincipalToAccessIdsTable,
    SnapshotTable,
    SnapshotRowTable,
    SnapshotChangeTable,
    SnapshotGarbageTable,
    SnapshotUsageTable,
}

impl Table {
    /// All tables, in the order of the declaration; `ALL[t as usize] == t`.
    pub const ALL: [Table; 28] = [
        Table::VolumeTable,
        Table::BucketTable,
        Table::UserTable,
        Table::KeyTable,
        Table::OpenKeyTable,
        Table::DeletedTable,
        Table::MultipartInfoTable,
        Table::MultipartPartsTable,
        Table::S3SecretTable,
        Table::TransactionInfoTable,
        Table::MetaTable,
        Table::FileTable,
        Table::OpenFileTable,
        Table::DirectoryTable,
        Table::DeletedDirectoryTable,
        Table::PrefixTable,
        Table::DelegationTokenTable,
        Table::SnapshotInfoTable,
        Table::SnapshotRenamedTable,
        Table::CompactionLogTable,
        Table::TenantStateTable,
        Table::TenantAccessIdTable,
        Table::PrincipalToAccessIdsTable,
        Table::SnapshotTable,
        Table::SnapshotRowTable,
        Table::SnapshotChangeTable,
        Table::SnapshotGarbageTable,
        Table::SnapshotUsageTable,
    ];

    /// The column family's name: Ozone's, where the table is Ozone's.
    pub const fn name(self) -> &'static str {
        match self {
            Table::VolumeTable => "volumeTable",
            Table::BucketTable => "bucketTable",
            Table::UserTable => "userTable",
            Table::KeyTable => "keyTable",
            Table::OpenKeyTable => "openKeyTable",
            Table::DeletedTable => "deletedTable",
            Table::MultipartInfoTable => "multipartInfoTable",
            Table::MultipartPartsTable => "multipartPartsTable",
            Table::S3SecretTable => "s3SecretTable",
            Table::TransactionInfoTable => "transactionInfoTable",
            Table::MetaTable => "metaTable",
            Table::FileTable => "fileTable",
            Table::OpenFileTable => "openFileTable",
            Table::DirectoryTable => "directoryTable",
            Table::DeletedDirectoryTable => "deletedDirectoryTable",
            Table::PrefixTable => "prefixTable",
            Table::DelegationTokenTable => "dTokenTable",
            Table::SnapshotInfoTable => "snapshotInfoTable",
            Table::SnapshotRenamedTable => "snapshotRenamedTable",
            Table::CompactionLogTable => "compactionLogTable",
            Table::TenantStateTable => "tenantStateTable",
            Table::TenantAccessIdTable => "tenantAccessIdTable",
            Table::PrincipalToAccessIdsTable => "principalToAccessIdsTable",
            Table::SnapshotTable => "trioxideSnapshotTable",
            Table::SnapshotRowTable => "trioxideSnapshotRowTable",
            Table::SnapshotChangeTable => "trioxideSnapshotChangeTable",
            Table::SnapshotGarbageTable => "trioxideSnapshotGarbageTable",
            Table::SnapshotUsageTable => "trioxideSnapshotUsageTable",
        }
    }
}

/// Key of the one row of the transactionInfoTable.
pub const TRANSACTION_INFO_KEY: &[u8] = b"#TRANSACTIONINFO";

/// `/volume`
pub fn volume_key(volume: &str) -> Vec<u8> {
    join(&[volume], 0)
}

/// `/volume/bucket`
pub fn bucket_key(volume: &str, bucket: &str) -> Vec<u8> {
    join(&[volume, bucket], 0)
}

/// `/volume/bucket/key`, the row of a committed key in OBS and LEGACY buckets.
pub fn object_key(volume: &str, bucket: &str, key: &str) -> Vec<u8> {
    // Room for the id that open and deleted rows append.
    join(&[volume, bucket, key], 22)
}

/// `/volume/bucket/key/clientID`: a key being written.
pub fn open_key(object_key: &[u8], client_id: u64) -> Vec<u8> {
    with_number(object_key, client_id.cast_signed())
}

/// `/volume/bucket/key/uploadID`: a multipart upload, in multipartInfoTable and openKeyTable.
pub fn multipart_key(object_key: &[u8], upload_id: &str) -> Vec<u8> {
    [object_key, upload_id.as_bytes()].join(&b'/')
}

/// `/volume/bucket/key/objectID`: blocks waiting to be deleted.
pub fn deleted_key(object_key: &[u8], object_id: u64) -> Vec<u8> {
    with_number(object_key, object_id.cast_signed())
}

/// `/volume/bucket/snapshot`: a snapshot in the snapshotInfoTable.
pub fn snapshot_key(volume: &str, bucket: &str, snapshot: &str) -> Vec<u8> {
    join(&[volume, bucket, snapshot], 0)
}

/// `/volume/bucket/prefix/`: ACLs of a prefix, given without the slash at its end.
pub fn prefix_key(volume: &str, bucket: &str, prefix: &str) -> Vec<u8> {
    join(&[volume, bucket, prefix, ""], 0)
}

/// `/volumeId/bucketId/`: prefix of the rows of a bucket of layout FILE_SYSTEM_OPTIMIZED.
pub fn tree_prefix(volume_id: u64, bucket_id: u64) -> Vec<u8> {
    // Room for the parent's id and a name.
    let mut key = Vec::with_capacity(3 * 21 + 32);
    push_number(&mut key, volume_id.cast_signed());
    push_number(&mut key, bucket_id.cast_signed());
    key.push(b'/');
    key
}

/// `/volumeId/bucketId/parentId/name`: a file or a directory. `tree` is a [`tree_prefix`].
pub fn path_key(tree: &[u8], parent_id: u64, name: &str) -> Vec<u8> {
    // Room for the id that open and deleted rows append.
    let mut key = Vec::with_capacity(tree.len().saturating_add(name.len()).saturating_add(44));
    key.extend_from_slice(tree.strip_suffix(b"/").unwrap_or(tree));
    push_number(&mut key, parent_id.cast_signed());
    key.push(b'/');
    key.extend_from_slice(name.as_bytes());
    key
}

/// `/volumeId/bucketId/parentId/name/objectID`: a directory whose content waits for deletion.
pub fn deleted_directory_key(path_key: &[u8], object_id: u64) -> Vec<u8> {
    with_number(path_key, object_id.cast_signed())
}

/// uploadID `/` part number, the row of one part.
pub fn part_key(upload_id: &str, part_number: u32) -> Vec<u8> {
    let mut key = part_prefix(upload_id);
    key.extend_from_slice(&part_number.to_be_bytes());
    key
}

/// Prefix of the rows of all parts of an upload.
pub fn part_prefix(upload_id: &str) -> Vec<u8> {
    // Room for the part's number.
    let mut key = Vec::with_capacity(upload_id.len().saturating_add(5));
    key.extend_from_slice(upload_id.as_bytes());
    key.push(b'/');
    key
}

/// The `/volume/bucket` that an [`object_key`] begins with.
pub(crate) fn bucket_of<'a>(object_key: &'a [u8], volume: &str, bucket: &str) -> &'a [u8] {
    let len = volume.len().saturating_add(bucket.len()).saturating_add(2);
    object_key.get(..len).unwrap_or(object_key)
}

/// The first key after every key that begins with `prefix`; `None` if there is no such key.
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|b| *b != u8::MAX)?;
    let mut end = prefix.get(..=last)?.to_vec();
    let byte = end.last_mut()?;
    *byte = byte.checked_add(1)?;
    Some(end)
}

/// The value of the transactionInfoTable's row.
pub fn transaction_info(term: u64, index: u64) -> String {
    format!("{term}#{index}")
}

/// Term and index out of the value of the transactionInfoTable's row.
pub fn parse_transaction_info(value: &[u8]) -> Option<(u64, u64)> {
    let (term, index) = std::str::from_utf8(value).ok()?.split_once('#')?;
    Some((term.parse().ok()?, index.parse().ok()?))
}

fn join(parts: &[&str], room: usize) -> Vec<u8> {
    let lens = parts.iter().map(|part| part.len().saturating_add(1));
    let mut key = Vec::with_capacity(lens.fold(room, usize::saturating_add));
    for part in parts {
        key.push(b'/');
        key.extend_from_slice(part.as_bytes());
    }
    key
}

/// `base/number`, the number as Java prints a `long`.
fn with_number(base: &[u8], number: i64) -> Vec<u8> {
    let mut key = Vec::with_capacity(base.len().saturating_add(21));
    key.extend_from_slice(base);
    push_number(&mut key, number);
    key
}

/// Appends `/number`.
fn push_number(key: &mut Vec<u8>, number: i64) {
    // Every key has one, so it is written without the detour over a `String`: the digits from the
    // end, then in order.
    key.push(b'/');
    if number < 0 {
        key.push(b'-');
    }
    let first = key.len();
    let mut rest = number.unsigned_abs();
    loop {
        // A remainder of ten fits a byte, and so does its digit.
        key.push(b'0'.saturating_add(u8::try_from(rest % 10).unwrap_or(0)));
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if let Some(digits) = key.get_mut(first..) {
        digits.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ozones() {
        let key = object_key("vol1", "bkt", "d1/f0");
        assert_eq!(key, b"/vol1/bkt/d1/f0");
        assert_eq!(
            deleted_key(&key, 0x8000_0000_0000_1900),
            b"/vol1/bkt/d1/f0/-9223372036854769408"
        );
        assert_eq!(open_key(&key, 117653413616091137), b"/vol1/bkt/d1/f0/117653413616091137");
        assert_eq!(open_key(&key, 0), b"/vol1/bkt/d1/f0/0");
        assert_eq!(open_key(&key, i64::MIN as u64), b"/vol1/bkt/d1/f0/-9223372036854775808");
        assert_eq!(multipart_key(&key, "u-1"), b"/vol1/bkt/d1/f0/u-1");
        assert_eq!(part_key("u-1", 258), b"u-1/\x00\x00\x01\x02");
        assert_eq!(bucket_of(&key, "vol1", "bkt"), b"/vol1/bkt");
        assert_eq!(volume_key("vol1"), b"/vol1");
        assert_eq!(prefix_key("vol1", "bkt", "d1/d2"), b"/vol1/bkt/d1/d2/");
        let tree = tree_prefix(5, 0x8000_0000_0000_0100);
        assert_eq!(tree, b"/5/-9223372036854775552/");
        let file = path_key(&tree, 7, "f0");
        assert_eq!(file, b"/5/-9223372036854775552/7/f0");
        assert_eq!(path_key(&tree, 7, ""), b"/5/-9223372036854775552/7/");
        assert_eq!(deleted_directory_key(&file, 9), b"/5/-9223372036854775552/7/f0/9");
    }

    #[test]
    fn a_prefix_ends_before_its_successor() {
        assert_eq!(prefix_end(b"/a/"), Some(b"/a0".to_vec()));
        assert_eq!(prefix_end(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(prefix_end(b"\xff"), None);
        assert_eq!(prefix_end(b""), None);
    }

    #[test]
    fn transaction_info_round_trips() {
        assert_eq!(parse_transaction_info(transaction_info(3, 105).as_bytes()), Some((3, 105)));
        assert_eq!(parse_transaction_info(b"3-105"), None);
    }

    #[test]
    fn all_tables_stand_at_their_number() {
        for (i, table) in Table::ALL.iter().enumerate() {
            assert_eq!(*table as usize, i);
        }
    }
}
