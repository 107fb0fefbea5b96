//! Tables with each kind of defect, and intact ones.

use std::path::Path;

use metastore::{Batch, Durability, Preset, Store, StoreOptions, TableSpec};
use namespace::Table;
use namespace::tables::{
    bucket_key, multipart_key, object_key, part_key, path_key, tree_prefix, volume_key,
};
use prost::Message;
use proto::hdds::{
    BlockId, ContainerBlockId, ContainerInfoProto, LifeCycleState, ReplicationFactor,
    ReplicationType,
};
use proto::ozone::{
    BucketInfo, BucketLayoutProto, DirectoryInfo, KeyInfo, KeyLocation, KeyLocationList,
    MultipartKeyInfo, MultipartPartInfo, VolumeInfo,
};
use serde_json::Value;

use super::findings::{Findings, Kind};
use super::{Check, find, run};

/// A database with these rows, whose server is stopped.
fn database(path: &Path, tables: &[&'static str], rows: Vec<(&'static str, Vec<u8>, Vec<u8>)>) {
    let specs: Vec<_> = tables.iter().map(|name| TableSpec::new(name, Preset::Point)).collect();
    let store = Store::open(path, &specs, &StoreOptions::default()).unwrap();
    let mut batch = Batch::new();
    for (table, key, value) in rows {
        batch.put(metastore::Table::named(table), key, value);
    }
    store.write(batch, Durability::Sync).unwrap();
    store.flush().unwrap();
}

struct Tables {
    dir: tempfile::TempDir,
    om: Vec<(&'static str, Vec<u8>, Vec<u8>)>,
    scm: Vec<(&'static str, Vec<u8>, Vec<u8>)>,
}

impl Tables {
    /// A volume with a bucket of keys and one of files.
    fn new() -> Self {
        let mut tables =
            Self { dir: tempfile::tempdir().unwrap(), om: Vec::new(), scm: Vec::new() };
        let volume =
            VolumeInfo { volume: "vol".to_owned(), object_id: Some(1), ..VolumeInfo::default() };
        tables.put(Table::VolumeTable, volume_key("vol"), &volume);
        for (name, id, layout) in [
            ("keys", 2, BucketLayoutProto::ObjectStore),
            ("files", 3, BucketLayoutProto::FileSystemOptimized),
        ] {
            let bucket = BucketInfo {
                volume_name: "vol".to_owned(),
                bucket_name: name.to_owned(),
                object_id: Some(id),
                bucket_layout: Some(layout as i32),
                ..BucketInfo::default()
            };
            tables.put(Table::BucketTable, bucket_key("vol", name), &bucket);
        }
        tables
    }

    fn put(&mut self, table: Table, key: Vec<u8>, value: &impl Message) {
        self.om.push((table.name(), key, value.encode_to_vec()));
    }

    fn upload(&mut self, row_of: &str, names: &str, id: &str) {
        let info = MultipartKeyInfo {
            upload_id: id.to_owned(),
            volume_name: Some("vol".to_owned()),
            bucket_name: Some("keys".to_owned()),
            key_name: Some(names.to_owned()),
            ..MultipartKeyInfo::default()
        };
        let row = multipart_key(&object_key("vol", "keys", row_of), id);
        self.put(Table::MultipartInfoTable, row, &info);
    }

    fn part(&mut self, upload: &str, bytes: u64, container: i64) {
        let part = MultipartPartInfo {
            part_number: Some(1),
            data_size: Some(bytes),
            key_location_list: Some(locations(&[(container, bytes)])),
            ..MultipartPartInfo::default()
        };
        self.put(Table::MultipartPartsTable, part_key(upload, 1), &part);
    }

    fn directory(&mut self, parent: u64, name: &str, id: u64) {
        let info =
            DirectoryInfo { name: name.to_owned(), object_id: id, ..DirectoryInfo::default() };
        self.put(Table::DirectoryTable, path_key(&tree_prefix(1, 3), parent, name), &info);
    }

    fn container(
        &mut self,
        id: i64,
        kind: ReplicationType,
        state: LifeCycleState,
        keys: u64,
        evidence: &[u8],
    ) {
        let info = ContainerInfoProto {
            container_id: id,
            state: state as i32,
            number_of_keys: keys,
            used_bytes: keys,
            owner: "om".to_owned(),
            replication_type: kind as i32,
            ..ContainerInfoProto::default()
        };
        let row = [info.encode_to_vec(), evidence.to_vec()].concat();
        self.scm.push(("containers", id.to_be_bytes().to_vec(), row));
    }

    /// Runs the check, with the tables of SCM or without.
    fn find(self, with_scm: bool) -> Findings {
        find(&self.write(with_scm)).unwrap()
    }

    fn write(&self, with_scm: bool) -> Check {
        let (om, scm) = (self.dir.path().join("om.db"), self.dir.path().join("scm.db"));
        let tables: Vec<_> = Table::ALL.iter().map(|table| table.name()).collect();
        database(&om, &tables, self.om.clone());
        database(&scm, &["containers"], self.scm.clone());
        let scm_db = with_scm.then_some(scm);
        Check { om_db: Some(om), scm_db, json: true, limit: 1_000, verbose: false }
    }
}

fn locations(blocks: &[(i64, u64)]) -> KeyLocationList {
    let location = |(container_id, length): &(i64, u64)| KeyLocation {
        block_id: BlockId {
            container_block_id: ContainerBlockId { container_id: *container_id, local_id: 1 },
            ..Default::default()
        },
        length: *length,
        ..KeyLocation::default()
    };
    KeyLocationList {
        key_locations: blocks.iter().map(location).collect(),
        ..KeyLocationList::default()
    }
}

fn key(bucket: &str, name: &str, blocks: &[(i64, u64)]) -> KeyInfo {
    KeyInfo {
        volume_name: "vol".to_owned(),
        bucket_name: bucket.to_owned(),
        key_name: name.to_owned(),
        data_size: blocks.iter().map(|(_, length)| length).sum(),
        r#type: ReplicationType::Ratis as i32,
        factor: Some(ReplicationFactor::Three as i32),
        key_location_list: vec![locations(&[(404, 1)]), locations(blocks)],
        ..KeyInfo::default()
    }
}

/// The values of a field of all findings of a kind.
fn field(findings: &Findings, kind: Kind, name: &str) -> Vec<Value> {
    findings.of(kind).1.iter().map(|about| about[name].clone()).collect()
}

#[test]
fn sound_tables_are_said_to_be() {
    let mut tables = Tables::new();
    tables.upload("a/b", "a/b", "id-1");
    tables.part("id-1", 7, 1);
    tables.directory(3, "dir", 10);
    let row = path_key(&tree_prefix(1, 3), 10, "file");
    tables.put(Table::FileTable, row, &key("files", "file", &[(1, 5)]));
    tables.put(Table::KeyTable, object_key("vol", "keys", "k"), &key("keys", "k", &[(1, 5)]));
    tables.container(1, ReplicationType::Ec, LifeCycleState::Open, 0, &[]);
    // All its replicas were empty.
    tables.container(2, ReplicationType::Ec, LifeCycleState::Deleted, 3, &[0xd0, 0x3e, 1]);
    let check = tables.write(true);
    let findings = find(&check).unwrap();
    assert_eq!(findings.total(), 0, "{findings}");
    assert!(findings.to_string().starts_with("Nothing was found.\n"));
    assert!(run(&check).is_ok());
}

#[test]
fn uploads_in_the_row_of_another_key_and_parts_without_an_upload_are_found() {
    let mut tables = Tables::new();
    tables.upload("a/b", "a/b", "id-1");
    tables.upload("a", "a", "b/id-2");
    tables.upload("c", "d", "id-3");
    tables.part("id-1", 7, 1);
    // Its upload was aborted under another name, and this part was written under another name.
    tables.part("id-4", 100, 1);
    tables.part("b/id-1", 200, 1);
    let lost = MultipartKeyInfo {
        upload_id: "id-5".to_owned(),
        volume_name: Some("vol".to_owned()),
        bucket_name: Some("gone".to_owned()),
        key_name: Some("k".to_owned()),
        ..MultipartKeyInfo::default()
    };
    let row = multipart_key(&object_key("vol", "gone", "k"), "id-5");
    tables.put(Table::MultipartInfoTable, row, &lost);
    // A row of Ozone has no key name.
    let nameless = MultipartKeyInfo { upload_id: "id-6".to_owned(), ..MultipartKeyInfo::default() };
    for (key, id) in [("e", "id-6"), ("f", "id-7")] {
        let row = multipart_key(&object_key("vol", "keys", key), id);
        tables.put(Table::MultipartInfoTable, row, &nameless);
    }
    let findings = tables.find(false);
    let rows = field(&findings, Kind::UploadOfAnotherKey, "row");
    assert_eq!(rows, ["/vol/keys/a/b/id-2", "/vol/keys/c/id-3", "/vol/keys/f/id-7"]);
    let gone = field(&findings, Kind::UploadWithoutItsBucket, "uploadID");
    assert_eq!(gone, ["id-5"]);
    let parts = field(&findings, Kind::PartWithoutItsUpload, "uploadID");
    assert_eq!(parts, ["b/id-1", "id-4"]);
    assert_eq!(field(&findings, Kind::PartWithoutItsUpload, "bytes"), [200, 100]);
    assert_eq!(findings.total(), 6, "{findings}");
}

#[test]
fn entries_whose_directory_is_not_there_are_found() {
    let mut tables = Tables::new();
    tables.directory(3, "dir", 10);
    tables.directory(10, "below", 11);
    tables.directory(99, "lost", 12);
    // Two directories that are each other's parent.
    tables.directory(14, "one", 13);
    tables.directory(13, "other", 14);
    for (parent, name) in [(11, "good"), (12, "under"), (98, "alone")] {
        let row = path_key(&tree_prefix(1, 3), parent, name);
        tables.put(Table::FileTable, row, &key("files", name, &[(1, 5)]));
    }
    let findings = tables.find(false);
    let mut directories = field(&findings, Kind::DirectoryWithoutItsParent, "name");
    directories.sort_by_key(Value::to_string);
    assert_eq!(directories, ["lost", "one", "other"]);
    assert_eq!(field(&findings, Kind::FileWithoutItsParent, "name"), ["under", "alone"]);
    assert_eq!(field(&findings, Kind::FileWithoutItsParent, "bucket"), ["/vol/files"; 2]);
}

#[test]
fn keys_in_containers_that_scm_deleted_are_found_with_both_databases() {
    let mut tables = Tables::new();
    tables.container(1, ReplicationType::Ec, LifeCycleState::Closed, 5, &[]);
    // As earlier releases deleted one whose nodes were down: its record has no size.
    tables.container(2, ReplicationType::Ec, LifeCycleState::Deleted, 0, &[]);
    tables.container(3, ReplicationType::Ec, LifeCycleState::Deleting, 8, &[]);
    tables.container(4, ReplicationType::Ratis, LifeCycleState::Deleted, 8, &[]);
    let object = |name: &str| object_key("vol", "keys", name);
    tables.put(Table::KeyTable, object("good"), &key("keys", "good", &[(1, 5)]));
    let blocks = [(2, 5), (1, 5), (2, 6), (4, 0)];
    tables.put(Table::KeyTable, object("lost"), &key("keys", "lost", &blocks));
    tables.put(Table::KeyTable, object("later"), &key("keys", "later", &[(77, 5)]));
    let row = path_key(&tree_prefix(1, 3), 3, "file");
    tables.put(Table::FileTable, row, &key("files", "file", &[(3, 9)]));
    tables.upload("up", "up", "id-1");
    tables.part("id-1", 7, 4);
    // Entries in snapshots: of a key, of a missing key, and of a directory.
    let kept = |tag: u8, name: &str, value: Vec<u8>| {
        let row = [&[tag], object(name).as_slice(), &[0, 1], &7_u64.to_be_bytes()].concat();
        (Table::SnapshotRowTable.name(), row, value)
    };
    let old = [&[1], key("keys", "old", &[(2, 3)]).encode_to_vec().as_slice()].concat();
    tables.om.push(kept(1, "old", old));
    tables.om.push(kept(1, "new", vec![0]));
    let directory = DirectoryInfo { name: "d".to_owned(), ..DirectoryInfo::default() };
    tables.om.push(kept(3, "d", [&[1], directory.encode_to_vec().as_slice()].concat()));

    let check = tables.write(true);
    let findings = find(&check).unwrap();
    assert_eq!(field(&findings, Kind::DeletedContainer, "container"), [3]);
    let named: Vec<(Value, Value, Value)> = findings
        .of(Kind::KeyInDeletedContainer)
        .1
        .iter()
        .map(|about| (about["table"].clone(), about["container"].clone(), about["bytes"].clone()))
        .collect();
    let expected = [("keyTable", 2, 11), ("fileTable", 3, 9), ("multipartPartsTable", 4, 7)];
    let expected = expected.into_iter().chain([("trioxideSnapshotRowTable", 2, 3)]);
    let expected: Vec<_> =
        expected.map(|(table, id, bytes)| (table.into(), id.into(), bytes.into())).collect();
    assert_eq!(named, expected);
    assert_eq!(field(&findings, Kind::KeyInUnknownContainer, "key"), ["later"]);
    let json = findings.to_json();
    assert_eq!(json["total"], 6);
    assert_eq!(json["findings"]["key-in-deleted-container"]["count"], 4);
    assert!(json["notes"]["unproven"].as_str().unwrap().starts_with("1 erasure-coded"));
    let told = run(&check).unwrap_err().to_string();
    assert!(told.starts_with("6 findings"), "{told}");
}

#[test]
fn rows_that_do_not_decode_are_findings_and_the_search_goes_on() {
    let mut tables = Tables::new();
    for table in [Table::MultipartInfoTable, Table::KeyTable, Table::FileTable] {
        tables.om.push((table.name(), b"/".to_vec(), vec![0xff; 9]));
    }
    tables.om.push((Table::MultipartPartsTable.name(), b"x".to_vec(), Vec::new()));
    tables.scm.push(("containers", vec![7], vec![0xff; 9]));
    tables.upload("c", "d", "id-3");
    let mut check = tables.write(true);
    let findings = find(&check).unwrap();
    assert!(findings.of(Kind::DamagedRow).0 >= 4, "{findings}");
    assert_eq!(findings.of(Kind::UploadOfAnotherKey).0, 1);
    // The limit applies to the output; all are counted.
    check.limit = 1;
    let few = find(&check).unwrap();
    assert_eq!((few.of(Kind::DamagedRow).1.len(), few.total()), (1, findings.total()));
    assert!(few.to_string().contains("more (--limit)"), "{few}");
    // A database of the other server.
    check.om_db = check.scm_db.clone();
    let told = find(&check).unwrap_err().to_string();
    assert!(told.contains("not a database of OM"), "{told}");
}
