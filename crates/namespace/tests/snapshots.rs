//! Snapshots and damaged rows, the number of snapshots, and the bounds of a diff. Their contents
//! are tested over random histories in snapshot_history.rs.

use namespace::{DiffEnds, Table, View, diff};
use proto::ozone::*;

use crate::harness::*;

pub fn bucket(tree: bool) -> &'static str {
    if tree { TREE } else { BUCKET }
}

pub fn named(tree: bool, path: &str) -> KeyArgs {
    args(bucket(tree), path)
}

pub fn snapshot_names(tree: bool) -> (Option<String>, Option<String>) {
    (Some(VOL.to_owned()), Some(bucket(tree).to_owned()))
}

pub fn create_snapshot(tree: bool, name: &str) -> OmRequest {
    let (volume_name, bucket_name) = snapshot_names(tree);
    let create = CreateSnapshotRequest {
        volume_name,
        bucket_name,
        snapshot_name: Some(name.to_owned()),
        ..CreateSnapshotRequest::default()
    };
    OmRequest { create_snapshot_request: Some(Box::new(create)), ..request(Type::CreateSnapshot) }
}

pub fn delete_snapshot(tree: bool, name: &str) -> OmRequest {
    let (volume_name, bucket_name) = snapshot_names(tree);
    let snapshot_name = Some(name.to_owned());
    let delete =
        DeleteSnapshotRequest { volume_name, bucket_name, snapshot_name, deletion_time: None };
    OmRequest { delete_snapshot_request: Some(Box::new(delete)), ..request(Type::DeleteSnapshot) }
}

pub fn purge_snapshot(key: &str, rows: u32) -> OmRequest {
    let purge = SnapshotPurgeRequest {
        snapshot_db_keys: vec![key.to_owned()],
        rows: Some(rows),
        ..SnapshotPurgeRequest::default()
    };
    OmRequest { snapshot_purge_request: Some(Box::new(purge)), ..request(Type::SnapshotPurge) }
}

pub fn object(tree: bool, path: &str) -> OzoneObj {
    OzoneObj {
        res_type: ozone_obj::ObjectType::Key as i32,
        store_type: ozone_obj::StoreType::Ozone as i32,
        path: format!("/{VOL}/{}/{path}", bucket(tree)),
    }
}

#[test]
fn a_bucket_with_snapshots_is_not_deleted() {
    let mut om = Om::with_paths();
    om.ok(create_snapshot(true, "first"));
    assert_eq!(om.refused(delete_bucket(TREE)), Status::ContainsSnapshot);
    assert_eq!(om.refused(create_snapshot(true, "first")), Status::FileAlreadyExists);
    om.ok(delete_snapshot(true, "first"));
    assert_eq!(om.refused(delete_snapshot(true, "first")), Status::FileNotFound);
    assert_eq!(om.refused(delete_bucket(TREE)), Status::ContainsSnapshot);
    om.ok(purge_snapshot(&format!("/{VOL}/{TREE}/first"), 10));
    om.ok(delete_bucket(TREE));
}

#[test]
fn there_are_only_so_many_snapshots() {
    let mut om = Om::new();
    om.settings.snapshot_limit = 2;
    om.ok(create_snapshot(false, "one"));
    om.ok(create_snapshot(false, "two"));
    assert_eq!(om.refused(create_snapshot(false, "three")), Status::TooManySnapshots);
    om.settings.snapshots = false;
    assert_eq!(om.refused(create_snapshot(false, "three")), Status::FeatureNotEnabled);
}

#[test]
fn a_damaged_row_is_refused_alone() {
    let mut om = Om::new();
    om.put("a", 3);
    om.ok(create_snapshot(false, "one"));
    om.put("a", 4);
    om.ok(create_snapshot(false, "two"));
    om.put("a", 5);
    let rows = rows_of(&om, Table::SnapshotRowTable);
    assert_eq!(rows.len(), 2);
    let (table, key) = (Table::SnapshotRowTable, rows[0].clone());
    om.tables.apply(namespace::Effect::Put { table, key, value: vec![9].into() });
    assert_eq!(om.refused(lookup_key(args(BUCKET, ".snapshot/one/a"))), Status::InternalError);
    let second = om.ok(lookup_key(args(BUCKET, ".snapshot/two/a"))).lookup_key_response.unwrap();
    assert_eq!(second.key_info.unwrap().data_size, 4);
    om.put("a", 6);
    let ends = |from: &str, to: &str| DiffEnds {
        volume: VOL.to_owned(),
        bucket: BUCKET.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
    };
    assert!(diff(&om.tables, &ends("one", "two"), 10, &|| true).is_err());
    assert!(diff(&om.tables, &ends("two", "two"), 10, &|| true).is_ok());
    om.ok(delete_snapshot(false, "one"));
    om.ok(purge_snapshot(&format!("/{VOL}/{BUCKET}/one"), 10));
}

fn list_snapshots() -> OmRequest {
    let list = ListSnapshotRequest {
        volume_name: Some(VOL.to_owned()),
        bucket_name: Some(BUCKET.to_owned()),
        ..ListSnapshotRequest::default()
    };
    OmRequest { list_snapshot_request: Some(Box::new(list)), ..request(Type::ListSnapshot) }
}

#[test]
fn a_snapshot_whose_row_is_damaged_is_missing_alone_and_goes_all_the_same() {
    let mut om = Om::new();
    for name in ["one", "two", "three"] {
        om.put("a", 3);
        om.ok(create_snapshot(false, name));
    }
    om.put("a", 4);
    let info_key = |name: &str| format!("/{VOL}/{BUCKET}/{name}");
    let damage = |om: &mut Om, table: Table, key: Vec<u8>| {
        om.tables.apply(namespace::Effect::Put { table, key, value: vec![0xff; 3].into() });
    };
    om.ok(delete_snapshot(false, "one"));
    om.ok(delete_snapshot(false, "two"));
    damage(&mut om, Table::SnapshotInfoTable, info_key("one").into_bytes());
    damage(&mut om, Table::SnapshotInfoTable, info_key("three").into_bytes());
    let listed = |om: &mut Om| -> Vec<String> {
        let list = om.ok(list_snapshots()).list_snapshot_response.unwrap();
        list.snapshot_info.into_iter().map(|info| info.name.unwrap()).collect()
    };
    assert_eq!(listed(&mut om), ["two"]);
    // Versions kept for the oldest snapshot are deleted permanently with it: they count there.
    let kept = rows_of(&om, Table::SnapshotGarbageTable);
    assert_eq!(kept.len(), 3);
    damage(&mut om, Table::SnapshotGarbageTable, kept[0].clone());
    let before = rows_of(&om, Table::DeletedTable).len();
    for name in ["one", "two"] {
        for _ in 0..4 {
            om.ok(purge_snapshot(&info_key(name), 10));
        }
    }
    assert_eq!(listed(&mut om), [""; 0]);
    assert_eq!(rows_of(&om, Table::SnapshotInfoTable), [info_key("three").into_bytes()]);
    assert_eq!(rows_of(&om, Table::SnapshotGarbageTable).len(), 1, "the last snapshot's");
    assert_eq!(rows_of(&om, Table::DeletedTable).len(), before + 2);
}

/// The keys of a table.
fn rows_of(om: &Om, table: Table) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    om.tables
        .scan(table, b"", None, &mut |key, _| {
            rows.push(key.to_vec());
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

#[test]
fn a_damaged_version_moves_on_to_the_snapshot_before() {
    let mut om = Om::new();
    om.put("a", 3);
    om.ok(create_snapshot(false, "one"));
    om.ok(create_snapshot(false, "two"));
    om.put("a", 4);
    let (table, mut kept) = (Table::SnapshotGarbageTable, Vec::new());
    let rows = |om: &Om, kept: &mut Vec<Vec<u8>>| {
        kept.clear();
        let scanned = om.tables.scan(table, b"", None, &mut |key, _| {
            kept.push(key.to_vec());
            std::ops::ControlFlow::Continue(())
        });
        scanned.unwrap();
    };
    rows(&om, &mut kept);
    let [before] = kept.clone().try_into().unwrap();
    let value = vec![9].into();
    om.tables.apply(namespace::Effect::Put { table, key: before.clone(), value });
    om.ok(delete_snapshot(false, "two"));
    om.ok(purge_snapshot(&format!("/{VOL}/{BUCKET}/two"), 10));
    rows(&om, &mut kept);
    assert_eq!((kept.len(), &kept[0][8..]), (1, &before[8..]), "kept for the snapshot before");
    assert!(kept[0] < before);
}

#[test]
fn a_diff_has_its_bounds() {
    let mut om = Om::new();
    om.ok(create_snapshot(false, "one"));
    for number in 0..5 {
        om.put(&format!("key{number}"), 1);
    }
    om.ok(create_snapshot(false, "two"));
    let ends = DiffEnds {
        volume: VOL.to_owned(),
        bucket: BUCKET.to_owned(),
        from: "one".to_owned(),
        to: "two".to_owned(),
    };
    assert_eq!(diff(&om.tables, &ends, 5, &|| true).unwrap().len(), 5);
    assert!(matches!(diff(&om.tables, &ends, 4, &|| true), Err(namespace::DiffError::TooMany(4))));
    assert!(matches!(diff(&om.tables, &ends, 5, &|| false), Err(namespace::DiffError::Cancelled)));
}
