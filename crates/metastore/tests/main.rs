//! The store as its users see it.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod cache;
mod compaction;
mod gaps;
mod small;

use std::time::{Duration, Instant};

use metastore::{
    Batch, Durability, Error, IterRange, KeyCodec, OfflineChange, OfflineStore, Preset, Store,
    StoreOptions, Table, TableSpec, TypedTable, ValueCodec,
};

const KEYS: TableSpec = TableSpec::new("keyTable", Preset::Scan);
const QUEUE: TableSpec = TableSpec::new("deletedTable", Preset::Queue);

fn open(dir: &std::path::Path) -> Store {
    Store::open(dir, &[KEYS, QUEUE], &StoreOptions::default()).unwrap()
}

fn keys(store: &Store, table: Table, range: IterRange) -> Vec<String> {
    let mut cursor = store.iter(table, range).unwrap();
    cursor.first();
    let mut seen = Vec::new();
    cursor
        .for_each(|k, _| {
            seen.push(String::from_utf8(k.to_vec()).unwrap());
            true
        })
        .unwrap();
    seen
}

#[test]
fn a_batch_spans_tables_and_survives_a_flush_without_the_log() {
    let dir = tempfile::tempdir().unwrap();
    {
        let store = open(dir.path());
        let (key_table, queue) =
            (store.table("keyTable").unwrap(), store.table("deletedTable").unwrap());
        let mut batch = Batch::new();
        batch.put(key_table, "/v/b/k", "info");
        batch.put(queue, "/v/b/k/1", "gone");
        store.write(batch, Durability::NoWal).unwrap();
        store.flush().unwrap();
    }
    let store = open(dir.path());
    assert_eq!(&*store.get(Table::named("keyTable"), b"/v/b/k").unwrap().unwrap(), b"info");
    assert_eq!(&*store.get(Table::named("deletedTable"), b"/v/b/k/1").unwrap().unwrap(), b"gone");
}

#[test]
fn a_flush_that_failed_once_is_never_said_to_have_succeeded() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let put = |key: &str| {
        let mut batch = Batch::new();
        batch.put(Table::named("keyTable"), key, "value");
        store.write(batch, Durability::NoWal)
    };
    put("before").unwrap();
    let failing = testkit::fail_syncs(&dir.path().display().to_string(), 1);
    let first = store.flush().unwrap_err();
    assert_eq!(failing.struck(), 1);
    assert!(matches!(first, Error::Failed { .. }), "{first}");
    // The disk works from here on.
    for _ in 0..2 {
        assert!(matches!(store.flush().unwrap_err(), Error::Broken { .. }));
    }
    assert!(matches!(put("after").unwrap_err(), Error::Broken { .. }));
    assert_eq!(store.failure().unwrap().to_string(), first.to_string());
    // Written data is still readable.
    assert!(store.contains(Table::named("keyTable"), b"before").unwrap());
    assert!(!store.contains(Table::named("keyTable"), b"after").unwrap());
}

#[test]
fn an_open_database_refuses_a_second_opener_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let _first = open(dir.path());
    let second = Store::open(dir.path(), &[KEYS], &StoreOptions::default());
    let Err(Error::Open { path, .. }) = second else { panic!("opened twice") };
    assert_eq!(path, dir.path());
}

#[test]
fn a_database_is_closed_once_its_last_user_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    // Rows to be flushed at the end, which takes time.
    let mut batch = Batch::new();
    for n in 0..20_000_u32 {
        batch.put(Table::named("keyTable"), n.to_be_bytes(), vec![n as u8; 1_000]);
    }
    store.write(batch, Durability::NoWal).unwrap();
    let (closing, user) = (store.closing(), store.clone());
    drop(store);
    assert!(!closing.wait(Duration::from_millis(10)), "it is in use");
    let user = std::thread::spawn(move || drop(user));
    // It is opened at the moment it is reported as closed.
    let begun = Instant::now();
    while !closing.is_closed() {
        assert!(begun.elapsed() < testkit::LIMIT, "it is not closed");
        std::thread::yield_now();
    }
    open(dir.path());
    assert!(closing.wait(Duration::ZERO));
    user.join().unwrap();
}

#[test]
fn tables_of_a_later_release_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let store = Store::open(dir.path(), &[KEYS], &StoreOptions::default()).unwrap();
    assert!(store.table("deletedTable").is_ok());
    assert!(matches!(store.table("noTable"), Err(Error::NoSuchTable(_))));
}

#[test]
fn ranges_prefixes_and_snapshots_read_what_they_say() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let table = store.table("keyTable").unwrap();
    let mut batch = Batch::new();
    for key in ["a/1", "a/2", "a0", "b/1"] {
        batch.put(table, key, "v");
    }
    store.write(batch, Durability::Sync).unwrap();
    assert_eq!(keys(&store, table, IterRange::prefix("a/")), ["a/1", "a/2"]);
    assert_eq!(keys(&store, table, IterRange::from("a/2").until("b")), ["a/2", "a0"]);

    let snapshot = store.snapshot();
    let mut batch = Batch::new();
    batch.delete_range(table, "a", "b");
    store.write(batch, Durability::Sync).unwrap();
    assert_eq!(keys(&store, table, IterRange::all()), ["b/1"]);
    assert!(snapshot.get(table, b"a/1").unwrap().is_some());
    assert!(store.get(table, b"a/1").unwrap().is_none());
    let both = store.multi_get(table, &[b"b/1", b"a/1"]).unwrap();
    assert!(both[0].is_some() && both[1].is_none());
}

#[test]
fn a_skip_bound_turns_a_wall_of_tombstones_into_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let table = store.table("keyTable").unwrap();
    let put = |i: u32| {
        let mut batch = Batch::new();
        batch.put(table, format!("k{i:05}"), "v");
        store.write(batch, Durability::NoWal).unwrap();
    };
    (0..2_000).for_each(put);
    // Held open, so that the rows cannot just vanish from memory.
    let _snapshot = store.snapshot();
    for i in 0..1_999 {
        let mut batch = Batch::new();
        batch.delete(table, format!("k{i:05}"));
        store.write(batch, Durability::NoWal).unwrap();
    }
    let mut cursor = store.iter(table, IterRange::all().max_skipped(100)).unwrap();
    cursor.first();
    assert!(cursor.row().is_err());
    assert_eq!(keys(&store, table, IterRange::all()), ["k01999"]);
}

#[test]
fn a_checkpoint_opens_as_a_database_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("db"));
    let table = store.table("keyTable").unwrap();
    let mut batch = Batch::new();
    batch.put(table, "k", "v");
    store.write(batch, Durability::NoWal).unwrap();
    let copy = dir.path().join("copy");
    store.checkpoint(&copy).unwrap();
    let mut batch = Batch::new();
    batch.delete(table, "k");
    store.write(batch, Durability::NoWal).unwrap();
    assert!(open(&copy).contains(table, b"k").unwrap());
}

#[derive(Debug, PartialEq)]
struct Number(u32);

impl ValueCodec for Number {
    fn encode(&self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }
    fn decode(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(u32::from_be_bytes).map(Self)
    }
}

#[test]
fn a_typed_table_names_itself_when_a_row_does_not_decode() {
    const NUMBERS: TypedTable<u64, Number> = TypedTable::named("keyTable");
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut batch = Batch::new();
    NUMBERS.put(&mut batch, &7, &Number(3));
    store.write(batch, Durability::Wal).unwrap();
    assert_eq!(NUMBERS.get(&store, &7).unwrap(), Some(Number(3)));
    assert_eq!(NUMBERS.rows(&store, IterRange::all()).unwrap(), [(7, Number(3))]);
    let mut batch = Batch::new();
    batch.put(NUMBERS.raw(), KeyCodec::encode(&8_u64), "not four");
    store.write(batch, Durability::Wal).unwrap();
    let Err(Error::Corrupt { table, .. }) = NUMBERS.get(&store, &8) else { panic!("decoded") };
    assert_eq!(table, "keyTable");
}

#[test]
fn rows_that_are_taken_in_as_files_are_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::named("keyTable");
    let row = |n: u32| (format!("/v/b/{n:08}").into_bytes(), vec![n as u8; 100]);
    {
        let store = open(dir.path());
        let mut batch = Batch::new();
        batch.put(table, "/v/b/00000007", "older");
        store.write(batch, Durability::NoWal).unwrap();
        let mut numbers = 0..2_000_000;
        let bytes =
            store.ingest(table, Preset::Scan).unwrap().rows(|| numbers.next().map(row)).unwrap();
        assert!(bytes > 0);
        assert_eq!(&*store.get(table, &row(7).0).unwrap().unwrap(), &[7; 100]);
        let mut disorder = [3, 2].into_iter();
        let refused = store.ingest(table, Preset::Scan).unwrap().rows(|| disorder.next().map(row));
        assert!(refused.is_err());
        assert_eq!(store.ingest(table, Preset::Scan).unwrap().rows(|| None).unwrap(), 0);
    }
    let names = |dir: &std::path::Path| -> Vec<String> {
        let files = std::fs::read_dir(dir).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert!(names(dir.path()).iter().all(|name| !name.starts_with("ingest")));
    let store = open(dir.path());
    assert_eq!(keys(&store, table, IterRange::prefix("/v/b/")).len(), 2_000_000);
}

#[test]
fn a_tool_reads_what_a_server_has_open_and_changes_what_none_has() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut batch = Batch::new();
    for n in 0..100 {
        batch.put(Table::named("keyTable"), format!("k{n}"), "v");
    }
    let (encoded, changes) = batch.encode(&store, &[Table::named("deletedTable")]).unwrap();
    assert_eq!((changes, &encoded[8..12]), (100, &100_u32.to_le_bytes()[..]));
    assert_eq!(batch.encode(&store, &[Table::named("keyTable")]).unwrap().1, 0);
    store.write(batch, Durability::NoWal).unwrap();
    store.flush().unwrap();
    {
        let reader = OfflineStore::open_read_only(dir.path()).unwrap();
        assert_eq!(reader.tables(), ["default", "keyTable", "deletedTable"]);
        assert_eq!(reader.get("keyTable", b"k7").unwrap().as_deref(), Some(&b"v"[..]));
        assert_eq!(reader.sequence(), 100);
        assert!(matches!(reader.get("nosuch", b"k"), Err(Error::NoSuchTable(_))));
        let copy = dir.path().join("copy");
        reader.checkpoint(&copy).unwrap();
        assert!(reader.checkpoint(&copy).is_err(), "it is there");
        assert!(
            OfflineStore::open_read_only(&copy).unwrap().estimated_rows("keyTable").unwrap() > 0
        );
    }
    assert!(matches!(OfflineStore::open(dir.path()), Err(Error::Open { .. })), "in use");
    drop(store);
    {
        let tool = OfflineStore::open(dir.path()).unwrap();
        let table = || "keyTable".to_owned();
        let put = OfflineChange::Put { table: table(), key: b"new".to_vec(), value: b"w".to_vec() };
        tool.write(&[put, OfflineChange::Delete { table: table(), key: b"k7".to_vec() }]).unwrap();
        tool.compact("keyTable").unwrap();
    }
    let store = open(dir.path());
    let keys = keys(&store, Table::named("keyTable"), IterRange::all());
    assert_eq!((keys.len(), keys.contains(&"k7".to_owned())), (100, false));
    assert!(keys.contains(&"new".to_owned()));
}
