//! Tables of few bytes that are flushed often.

use std::time::{Duration, Instant};

use metastore::{Batch, Durability, Preset, Store, StoreOptions, Table, TableSpec};

const CLOSED: TableSpec = TableSpec::new("closed", Preset::Small);

#[test]
fn a_small_table_has_few_files_however_often_it_is_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &[CLOSED], &StoreOptions::default()).unwrap();
    let table = Table::named("closed");
    for n in 0..200_u64 {
        let mut batch = Batch::new();
        // Behind all others, as containers are closed.
        batch.put(table, n.to_be_bytes(), "row");
        store.write(batch, Durability::NoWal).unwrap();
        store.flush().unwrap();
    }
    let begun = Instant::now();
    let files = || store.table_files(table).unwrap().len();
    while files() > 8 {
        assert!(begun.elapsed() < Duration::from_secs(20), "{} files", files());
        std::thread::sleep(Duration::from_millis(20));
    }
    for n in 0..200_u64 {
        assert!(store.contains(table, &n.to_be_bytes()).unwrap(), "row {n}");
    }
}
