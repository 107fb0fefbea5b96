//! Snapshot tables with arbitrary bytes in place of one row: a diff and the reads of snapshots are
//! answered or refused, and the current bucket answers as before.

use namespace::{DiffEnds, Effect, MemoryTables, Table, View, diff};
use prost::bytes::Bytes;
use proto::ozone::*;

use crate::harness::*;
use crate::snapshots::{bucket, create_snapshot, named};

/// The tables that a diff and reads of snapshots look at. The buckets' rows are left alone: a
/// bucket without a row is none.
const TABLES: [Table; 7] = [
    Table::SnapshotInfoTable,
    Table::SnapshotTable,
    Table::SnapshotRowTable,
    Table::SnapshotChangeTable,
    Table::KeyTable,
    Table::FileTable,
    Table::DirectoryTable,
];

/// Those of them that only snapshots have rows in.
const OF_SNAPSHOTS: usize = 4;

thread_local! {
    static OM: Om = changed();
}

/// An OM with two snapshots of two buckets, and every kind of change between them.
fn changed() -> Om {
    let mut om = Om::with_paths();
    for tree in [false, true] {
        for name in ["stays", "goes", "moves", "dir/in", "dir/sub/below"] {
            om.put_in(bucket(tree), name, 3);
        }
        om.ok(create_snapshot(tree, "one"));
        om.ok(delete_key(named(tree, "goes")));
        om.ok(rename_key(named(tree, "moves"), "moved"));
        om.put_in(bucket(tree), "new", 4);
        om.put_in(bucket(tree), "dir/in", 5);
        if tree {
            om.ok(rename_key(named(tree, "dir/sub"), "subdirectory"));
        }
        om.ok(create_snapshot(tree, "two"));
        om.put_in(bucket(tree), "new", 6);
    }
    om
}

fn rows(tables: &MemoryTables, table: Table) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    tables
        .scan(table, b"", None, &mut |key, value| {
            rows.push((key.to_vec(), value.to_vec()));
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

/// The first byte says which table, the second which row of it, the third the length of another
/// key for that row, or 0 for its own: the key is next, and the rest is the value.
fn read_with(data: &[u8]) {
    let [table, row, key_len, rest @ ..] = data else { return };
    let number = usize::from(*table) % TABLES.len();
    OM.with(|om| {
        let table = TABLES[number];
        let rows = rows(&om.tables, table);
        if rows.is_empty() {
            return;
        }
        let own = rows[usize::from(*row) % rows.len()].0.clone();
        let (key, value) = rest.split_at(usize::from(*key_len).min(rest.len()));
        let key = if key.is_empty() { own.clone() } else { key.to_vec() };
        let mut damaged = Om::bare();
        damaged.tables = om.tables.clone();
        damaged.tables.apply(Effect::Delete { table, key: own });
        let value = Bytes::copy_from_slice(value);
        damaged.tables.apply(Effect::Put { table, key, value });
        read_all(&damaged);
        for tree in [false, true] {
            if number < OF_SNAPSHOTS {
                let found = damaged.read(&lookup_key(named(tree, "stays")));
                assert_eq!(status(&found), Status::Ok, "{:?}", found.message);
            }
        }
    });
}

fn read_all(om: &Om) {
    for tree in [false, true] {
        for (from, to) in [("one", "two"), ("two", "one")] {
            let ends = DiffEnds {
                volume: VOL.to_owned(),
                bucket: bucket(tree).to_owned(),
                from: from.to_owned(),
                to: to.to_owned(),
            };
            let _ = diff(&om.tables, &ends, 1_000, &|| true);
        }
        for name in ["stays", "goes", "moves", "moved", "dir/in", "dir/sub/below"] {
            for snapshot in ["one", "two"] {
                om.read(&lookup_key(named(tree, &format!(".snapshot/{snapshot}/{name}"))));
            }
        }
        for prefix in ["", ".snapshot/one/", ".snapshot/two/"] {
            om.read(&list_keys_light(ListKeysRequest {
                volume_name: VOL.to_owned(),
                bucket_name: bucket(tree).to_owned(),
                prefix: Some(prefix.to_owned()),
                count: Some(20),
                ..ListKeysRequest::default()
            }));
        }
    }
}

/// Every row as it is, under its own key, and under its neighbour's and parts of that.
fn seeds() -> Vec<Vec<u8>> {
    let om = changed();
    let mut seeds = Vec::new();
    for (number, table) in TABLES.into_iter().enumerate() {
        let rows = rows(&om.tables, table);
        for (at, (_, value)) in rows.iter().enumerate() {
            let place = [number as u8, at as u8];
            seeds.push([place.as_slice(), &[0], value].concat());
            let other = &rows[(at + 1) % rows.len()].0;
            // Whole, and cut at or near the end of a number that it begins with.
            for len in [other.len(), other.len() - 1, 9, 8, 7] {
                let key = &other[..len.min(other.len())];
                let length = [u8::try_from(key.len()).unwrap()];
                seeds.push([place.as_slice(), &length, key, value].concat());
            }
        }
    }
    seeds
}

#[test]
fn whatever_a_row_of_a_snapshot_is_the_rest_is_read() {
    // With the rows as they are nothing is refused.
    let om = changed();
    for tree in [false, true] {
        let found = om.read(&lookup_key(named(tree, ".snapshot/one/goes")));
        assert_eq!(status(&found), Status::Ok, "{:?}", found.message);
    }
    testkit::fuzz(vec![("om-snapshot-rows", read_with, seeds())]);
}
