//! Effects laid over tables, against a map.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use namespace::{Bucket, Effect, MemoryTables, Overlay, RowChange, Table, View};
use proptest::prelude::*;
use prost::Message;
use proto::ozone::BucketInfo;

#[derive(Debug, Clone)]
enum Change {
    Put(u8, u8),
    Delete(u8),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        2 => (0..12u8, any::<u8>()).prop_map(|(key, value)| Change::Put(key, value)),
        1 => (0..12u8).prop_map(Change::Delete),
    ];
    proptest::collection::vec(change, 0..16)
}

fn effect(change: &Change) -> Effect {
    let table = Table::MetaTable;
    match *change {
        Change::Put(key, value) => Effect::Put { table, key: vec![key], value: vec![value].into() },
        Change::Delete(key) => Effect::Delete { table, key: vec![key] },
    }
}

fn model(map: &mut BTreeMap<u8, u8>, change: &Change) {
    match *change {
        Change::Put(key, value) => drop(map.insert(key, value)),
        Change::Delete(key) => drop(map.remove(&key)),
    }
}

fn scanned(view: &dyn View, start: u8, end: Option<u8>, most: usize) -> Vec<(u8, u8)> {
    let mut rows = Vec::new();
    let end = end.map(|end| [end]);
    let end = end.as_ref().map(|end| end.as_slice());
    view.scan(Table::MetaTable, &[start], end, &mut |key, value| {
        rows.push((key[0], value[0]));
        if rows.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .unwrap();
    rows
}

proptest! {
    #[test]
    fn an_overlay_shows_the_base_as_if_it_were_changed(
        below in changes(),
        above in changes(),
        start in 0..13u8,
        end in proptest::option::of(0..13u8),
        most in 1..5usize,
    ) {
        let mut base = MemoryTables::default();
        let mut map = BTreeMap::new();
        for change in &below {
            base.apply(effect(change));
            model(&mut map, change);
        }
        let mut overlay = Overlay::new(base.clone());
        for change in &above {
            overlay.absorb(vec![effect(change)]);
            model(&mut map, change);
        }
        let within = |key: &u8| *key >= start && end.is_none_or(|end| *key < end);
        let expected: Vec<(u8, u8)> =
            map.iter().filter(|(key, _)| within(key)).map(|(k, v)| (*k, *v)).take(most).collect();
        prop_assert_eq!(scanned(&overlay, start, end, most), expected);
        for key in 0..12u8 {
            let value = overlay.get(Table::MetaTable, &[key]).unwrap().map(|value| value[0]);
            prop_assert_eq!(value, map.get(&key).copied());
            let exists = overlay.exists(Table::MetaTable, &[key]).unwrap();
            prop_assert_eq!(exists, map.contains_key(&key));
        }
        // The written rows are the visible ones.
        let changed = overlay.len();
        let changes: Vec<_> = overlay.drain_changes().collect();
        prop_assert_eq!(changes.len(), changed);
        prop_assert!(overlay.is_empty());
        for (table, key, change) in changes {
            base.apply(match change.value() {
                Some(value) => Effect::Put { table, key, value },
                None => Effect::Delete { table, key },
            });
        }
        let all: Vec<(u8, u8)> = map.into_iter().collect();
        prop_assert_eq!(scanned(&base, 0, None, usize::MAX), all);
    }
}

#[test]
fn a_changed_bucket_is_seen_decoded_and_encoded() {
    let info = BucketInfo { bucket_name: "b".to_owned(), ..BucketInfo::default() };
    let key = b"/v/b".to_vec();
    let mut base = MemoryTables::default();
    base.apply(Effect::PutBucket { key: key.clone(), bucket: Bucket::new(info.clone()) });
    let mut overlay = Overlay::new(base);
    assert_eq!(overlay.bucket(&key).unwrap().unwrap().used_bytes, 0);

    let mut bucket = Bucket::new(info);
    bucket.used_bytes = 5;
    overlay.absorb(vec![Effect::PutBucket { key: key.clone(), bucket }]);
    assert_eq!(overlay.bucket(&key).unwrap().unwrap().used_bytes, 5);
    let row = overlay.get(Table::BucketTable, &key).unwrap().unwrap();
    assert_eq!(BucketInfo::decode(row).unwrap().used_bytes, Some(5));

    overlay.absorb(vec![Effect::Delete { table: Table::BucketTable, key: key.clone() }]);
    assert!(overlay.bucket(&key).unwrap().is_none());
    let changes: Vec<_> = overlay.drain_changes().collect();
    assert_eq!(changes, [(Table::BucketTable, key, RowChange::Deleted)]);
}
