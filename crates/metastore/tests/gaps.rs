//! Cursors that skip tombstones return the same rows as without skipping.

use std::collections::BTreeMap;

use metastore::{Batch, Durability, IterRange, Snapshot, Store, StoreOptions, Table};
use proptest::prelude::*;

use super::KEYS;

const TABLE: Table = Table::named("keyTable");

/// A database whose cursors record gaps after two tombstones.
fn open(dir: &std::path::Path) -> Store {
    let options = StoreOptions { skip_limit: 2, deletion_trigger: None, ..StoreOptions::default() };
    Store::open(dir, &[KEYS], &options).unwrap()
}

fn key(i: u32) -> String {
    format!("k{i:06}")
}

fn put(store: &Store, keys: impl IntoIterator<Item = u32>) {
    let mut batch = Batch::new();
    keys.into_iter().for_each(|i| batch.put(TABLE, key(i), "value"));
    store.write(batch, Durability::NoWal).unwrap();
}

fn delete(store: &Store, keys: impl IntoIterator<Item = u32>) {
    let mut batch = Batch::new();
    keys.into_iter().for_each(|i| batch.delete(TABLE, key(i)));
    store.write(batch, Durability::NoWal).unwrap();
}

fn listed(snapshot: &Snapshot<'_>, range: IterRange, most: usize) -> Vec<String> {
    let mut cursor = snapshot.iter(TABLE, range).unwrap();
    cursor.first();
    let mut seen = Vec::new();
    cursor
        .for_each(|key, _| {
            seen.push(String::from_utf8(key.to_vec()).unwrap());
            seen.len() < most
        })
        .unwrap();
    seen
}

#[test]
fn a_list_behind_deleted_rows_notes_them_and_the_next_one_goes_over_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, 0..1_010);
    delete(&store, 0..1_000);
    assert_eq!(store.metrics().gaps, 0);
    let range = || IterRange::prefix("k");
    assert_eq!(listed(&store.snapshot(), range(), 1), [key(1_000)]);
    assert_eq!(store.metrics().gaps, 1);
    let walls = store.take_walls();
    assert_eq!(walls.len(), 1);
    assert_eq!(
        (walls[0].start.as_slice(), walls[0].end.as_slice()),
        (&b"k"[..], key(1_000).as_bytes())
    );
    // More deletions extend the skipped range, and no row is lost.
    delete(&store, 1_000..1_005);
    assert_eq!(listed(&store.snapshot(), range(), 9), (1_005..1_010).map(key).collect::<Vec<_>>());
    // A new row is visible at once.
    put(&store, [500]);
    assert_eq!(listed(&store.snapshot(), range(), 2), [key(500), key(1_005)]);
}

#[test]
fn an_older_snapshot_sees_the_rows_that_a_gap_lacks() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, 0..100);
    let before = store.snapshot();
    delete(&store, 0..90);
    let after = store.snapshot();
    assert_eq!(listed(&after, IterRange::all(), 1), [key(90)]);
    assert!(store.metrics().gaps > 0);
    assert_eq!(listed(&before, IterRange::all(), 1), [key(0)]);
    assert_eq!(listed(&before, IterRange::all(), 200).len(), 100);
}

#[test]
fn a_range_of_tombstones_alone_ends_and_the_end_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, 0..100);
    delete(&store, 0..100);
    for _ in 0..2 {
        assert!(listed(&store.snapshot(), IterRange::prefix("k"), 1).is_empty());
        assert!(listed(&store.snapshot(), IterRange::all(), 1).is_empty());
    }
    assert!(store.metrics().gaps > 0);
}

#[derive(Debug, Clone)]
enum Act {
    Put(Vec<u32>),
    Delete(u32, u32),
    List(u32, u32, usize),
    /// Lists in a snapshot taken that many operations ago.
    ListOld(usize, u32),
    Seek(u32),
    Flush,
    Compact,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let key = 0_u32..60;
    let act = prop_oneof![
        3 => prop::collection::vec(key.clone(), 1..20).prop_map(Act::Put),
        4 => (key.clone(), 1_u32..30).prop_map(|(from, n)| Act::Delete(from, n)),
        4 => (key.clone(), key.clone(), 1_usize..70).prop_map(|(a, b, n)| Act::List(a, b, n)),
        3 => (0_usize..4, key.clone()).prop_map(|(age, from)| Act::ListOld(age, from)),
        2 => key.prop_map(Act::Seek),
        1 => Just(Act::Flush),
        1 => Just(Act::Compact),
    ];
    prop::collection::vec(act, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn cursors_see_what_a_map_has(acts in acts()) {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let mut map: BTreeMap<u32, ()> = BTreeMap::new();
        let mut old: Vec<(Snapshot<'_>, BTreeMap<u32, ()>)> = Vec::new();
        for act in acts {
            match act {
                Act::Put(keys) => {
                    put(&store, keys.iter().copied());
                    map.extend(keys.into_iter().map(|key| (key, ())));
                }
                Act::Delete(from, n) => {
                    delete(&store, from..from + n);
                    map.retain(|key, ()| *key < from || *key >= from + n);
                }
                Act::List(a, b, most) => {
                    let range = IterRange::from(key(a)).until(key(b.max(a + 1)));
                    let expected: Vec<String> = map.range(a..b.max(a + 1)).take(most).map(|(k, ())| key(*k)).collect();
                    prop_assert_eq!(listed(&store.snapshot(), range, most), expected);
                }
                Act::ListOld(age, from) => {
                    if let Some((snapshot, map)) = old.iter().rev().nth(age) {
                        let expected: Vec<String> = map.range(from..).map(|(k, ())| key(*k)).collect();
                        prop_assert_eq!(listed(snapshot, IterRange::from(key(from)), 99), expected);
                    }
                }
                Act::Seek(to) => {
                    let mut cursor = store.iter(TABLE, IterRange::all()).unwrap();
                    cursor.seek(key(to).as_bytes());
                    let found = cursor.row().unwrap().map(|(k, _)| k.to_vec());
                    let expected = map.range(to..).next().map(|(k, ())| key(*k).into_bytes());
                    prop_assert_eq!(found, expected);
                }
                Act::Flush => store.flush().unwrap(),
                Act::Compact => {
                    store.compact(TABLE, b"", None).unwrap();
                }
            }
            old.push((store.snapshot(), map.clone()));
            if old.len() > 4 {
                old.remove(0);
            }
        }
    }
}

/// Rows move from one key to another all the time, and a list sees each exactly once.
#[test]
fn lists_beside_a_writer_see_every_row_of_their_snapshot() {
    const ROWS: u32 = 40;
    const MOVES: u32 = 3_000;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, (0..ROWS).map(|row| row * 1_000));
    let done = std::sync::atomic::AtomicBool::new(false);
    let ordering = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(ordering) {
                    let seen = listed(&store.snapshot(), IterRange::prefix("k"), usize::MAX);
                    let rows: Vec<&str> = seen.iter().map(|key| &key[..4]).collect();
                    assert_eq!(rows.len(), ROWS as usize, "{seen:?}");
                    assert!(rows.is_sorted());
                }
            });
        }
        for step in 0..MOVES {
            let mut batch = Batch::new();
            for row in (0..ROWS).filter(|row| (row + step) % 3 == 0) {
                let at = |step: u32| row * 1_000 + ((step + 2 - (row + step) % 3) / 3 * 7) % 1_000;
                let (from, to) = (at(step), at(step + 3));
                if from != to && store.contains(TABLE, key(from).as_bytes()).unwrap() {
                    batch.delete(TABLE, key(from));
                    batch.put(TABLE, key(to), "value");
                }
            }
            store.write(batch, Durability::NoWal).unwrap();
        }
        done.store(true, ordering);
    });
}
