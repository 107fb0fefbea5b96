//! Caching of large files.

use metastore::{Preset, Store, StoreOptions, Table};

use super::KEYS;

/// A file with this number of rows has a filter of 750 KB.
const ROWS: u32 = 600_000;

#[test]
fn filters_of_files_with_many_rows_are_cached() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::named("keyTable");
    // Shards of half a MiB each; 64 MiB have shards of one.
    let options = StoreOptions { block_cache_bytes: 4 << 20, ..StoreOptions::default() };
    let store = Store::open(dir.path(), &[KEYS], &options).unwrap();
    let key = |n: u32| format!("/v/b/{n:08}").into_bytes();
    let mut numbers = 0..ROWS;
    let rows = || numbers.next().map(|n| (key(n), n.to_be_bytes().to_vec()));
    store.ingest(table, Preset::Scan).unwrap().rows(rows).unwrap();
    assert_eq!(store.table_files(table).unwrap().len(), 1);
    for n in (0..ROWS).step_by(ROWS as usize / 10) {
        for (key, there) in [(key(n), true), ([&*key(n), b"x"].concat(), false)] {
            assert_eq!(store.contains(table, &key).unwrap(), there);
            let before = bytes_read();
            assert_eq!(store.contains(table, &key).unwrap(), there);
            // Reading data already read by this thread is counted, too.
            let again = bytes_read() - before;
            assert!(again < 4_096, "{again} bytes are read again for row {n}, there: {there}");
        }
    }
}

/// Bytes read by this thread.
fn bytes_read() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}
