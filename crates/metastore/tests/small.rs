//! Small tables that are flushed often.

use metastore::{Batch, Durability, Preset, Store, StoreOptions, Table, TableSpec};

const CLOSED: TableSpec = TableSpec::new("closed", Preset::Small);

/// Puts a row after all others, as for closed containers, and flushes it.
fn put(store: &Store, n: u64) {
    let mut batch = Batch::new();
    batch.put(Table::named("closed"), n.to_be_bytes(), "row");
    store.write(batch, Durability::NoWal).unwrap();
    store.flush().unwrap();
}

fn has_all(store: &Store, rows: u64) {
    for n in 0..rows {
        assert!(store.contains(Table::named("closed"), &n.to_be_bytes()).unwrap(), "row {n}");
    }
}

#[test]
fn a_small_table_has_few_files_however_often_it_is_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &[CLOSED], &StoreOptions::default()).unwrap();
    (0..200).for_each(|n| put(&store, n));
    testkit::until_blocking("at most eight files", || {
        match store.table_files(Table::named("closed")).unwrap().len() {
            0..=8 => Ok(()),
            files => Err(files),
        }
    });
    has_all(&store, 200);
}

#[test]
fn a_table_in_levels_is_opened_as_a_small_one_and_again_as_one_in_levels() {
    let dir = tempfile::tempdir().unwrap();
    let levels = TableSpec::new("closed", Preset::Point);
    let mut rows = 0;
    for spec in [levels, CLOSED, levels] {
        let store = Store::open(dir.path(), &[spec], &StoreOptions::default()).unwrap();
        has_all(&store, rows);
        (rows..rows + 60).for_each(|n| put(&store, n));
        rows += 60;
        has_all(&store, rows);
    }
}
