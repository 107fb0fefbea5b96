//! Ranges with tombstones are found and compacted, in any level.

use metastore::compaction::{Cut, Limits, RangeCompactor, RangeStatistics, Reason, TablePlan};
use metastore::{Batch, Durability, Error, Store, StoreOptions, Table, TableSpec};

use super::{KEYS, QUEUE};

const TABLE: Table = Table::named("keyTable");
const FLAT: Cut = Cut { merge: true, align: <[u8]>::len };
const SMALL: Limits = Limits { max_entries: 10_000, min_tombstones: 100, tombstone_percentage: 30 };

/// A database that does not compact files with tombstones by itself.
fn open(dir: &std::path::Path) -> Store {
    let options = StoreOptions { deletion_trigger: None, ..StoreOptions::default() };
    Store::open(dir, &[KEYS, QUEUE], &options).unwrap()
}

fn put(store: &Store, bucket: &str, keys: std::ops::Range<u32>) {
    let mut batch = Batch::new();
    keys.for_each(|i| batch.put(TABLE, format!("/{bucket}/{i:06}"), format!("value {i}")));
    store.write(batch, Durability::NoWal).unwrap();
    store.flush().unwrap();
}

fn delete(store: &Store, bucket: &str, keys: std::ops::Range<u32>) {
    let mut batch = Batch::new();
    keys.for_each(|i| batch.delete(TABLE, format!("/{bucket}/{i:06}")));
    store.write(batch, Durability::NoWal).unwrap();
    store.flush().unwrap();
}

fn statistics(store: &Store) -> RangeStatistics {
    RangeStatistics::of(&store.table_files(TABLE).unwrap(), b"", None)
}

fn groups(buckets: &[&str]) -> Vec<Vec<u8>> {
    buckets.iter().map(|bucket| format!("/{bucket}/").into_bytes()).collect()
}

fn tables<'a>(buckets: &[&str]) -> impl Iterator<Item = TablePlan<'a>> {
    let groups = Box::new(groups(buckets).into_iter());
    std::iter::once(TablePlan { table: TABLE, cut: FLAT, groups })
}

#[test]
fn range_statistics_count_tombstones_and_a_compaction_removes_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, "a", 0..100);
    delete(&store, "a", 0..50);
    let before = store.range_statistics(TABLE, b"/a/", b"/b/").unwrap();
    assert_eq!((before.entries, before.deletions), (150, 50));
    let done = store.compact(TABLE, b"/a/", Some(b"/b/")).unwrap();
    assert!(done.cleared() && done.read_bytes > 0 && done.written_bytes > 0, "{done:?}");
    assert_eq!((done.before, done.after.deletions), (before, 0));
    let after = store.range_statistics(TABLE, b"/a/", b"/b/").unwrap();
    assert_eq!((after.entries, after.deletions), (50, 0));
    assert_eq!(store.range_statistics(TABLE, b"/x", b"/y").unwrap().files, 0);
}

/// Rows that were never in the last level, below files of the last level that span them: with tight
/// bounds RocksDB leaves their tombstones in place.
#[test]
fn tombstones_of_short_lived_rows_go_too() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, "a", 0..2_000);
    put(&store, "c", 0..2_000);
    store.compact_table(TABLE).unwrap();
    put(&store, "b", 0..5_000);
    delete(&store, "b", 0..5_000);
    assert_eq!(statistics(&store).deletions, 5_000);
    let done = store.compact(TABLE, b"/b/", Some(b"/b0")).unwrap();
    assert!(done.cleared(), "{done:?}");
    assert_eq!(
        statistics(&store),
        RangeStatistics { entries: 4_000, deletions: 0, ..statistics(&store) }
    );
}

/// Bytes that the compaction of a small bucket between two large ones reads and writes, in MiB.
fn compact_between_large_ones(spec: TableSpec) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions { deletion_trigger: None, ..StoreOptions::default() };
    let store = Store::open(dir.path(), &[spec], &options).unwrap();
    // Incompressible data.
    let mut state = 1_u64;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    let mut put = |bucket: &str, keys: u32| {
        let mut batch = Batch::new();
        for i in 0..keys {
            let value: Vec<u8> = (0..1_000).map(|_| random()).collect();
            batch.put(TABLE, format!("/v/{bucket}/{i:06}"), value);
        }
        store.write(batch, Durability::NoWal).unwrap();
        store.flush().unwrap();
    };
    for (bucket, keys) in [("a", 100), ("large", 40_000), ("small", 1_000), ("z", 40_000)] {
        put(bucket, keys);
    }
    store.compact_table(TABLE).unwrap();
    // One file contains this and rows of others.
    let mut batch = Batch::new();
    (0..1_000).for_each(|i| batch.delete(TABLE, format!("/v/small/{i:06}")));
    for bucket in ["a", "z"] {
        batch.put(TABLE, format!("/v/{bucket}/new"), "value");
    }
    store.write(batch, Durability::NoWal).unwrap();
    store.flush().unwrap();
    let done = store.compact(TABLE, b"/v/small/", Some(b"/v/small0")).unwrap();
    assert!(done.cleared(), "{done:?}");
    assert_eq!(statistics(&store).entries, 80_102);
    (done.read_bytes + done.written_bytes) >> 20
}

#[test]
fn the_compaction_of_a_bucket_rewrites_little_of_others() {
    let as_rocksdb_likes = compact_between_large_ones(KEYS);
    let with_buckets = compact_between_large_ones(KEYS.in_buckets());
    assert!(as_rocksdb_likes > 100, "it rewrote {as_rocksdb_likes} MiB");
    assert!(with_buckets < 16, "it rewrote {with_buckets} MiB");
}

#[test]
fn tombstones_in_memory_are_flushed_once_there_are_enough() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, "a", 0..1_000);
    let compactor = RangeCompactor::new(SMALL, None);
    let remove = |keys: std::ops::Range<u32>| {
        let mut batch = Batch::new();
        keys.for_each(|i| batch.delete(TABLE, format!("/a/{i:06}")));
        store.write(batch, Durability::NoWal).unwrap();
    };
    remove(0..90);
    assert_eq!(compactor.look(&store, tables(&["a"])).unwrap(), 0);
    assert_eq!(store.deletions_in_memory(TABLE), 90);
    remove(90..600);
    assert_eq!(compactor.look(&store, tables(&["a"])).unwrap(), 1);
    assert_eq!(store.deletions_in_memory(TABLE), 0);
    assert!(compactor.compact_next(&store).unwrap().outcome.unwrap().cleared());
    assert_eq!(statistics(&store).deletions, 0);
}

#[test]
fn only_what_is_worth_it_is_compacted_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for bucket in ["a", "b", "c"] {
        put(&store, bucket, 0..1_000);
    }
    delete(&store, "b", 0..900);
    delete(&store, "c", 0..20);
    let compactor = RangeCompactor::new(SMALL, None);
    let found = compactor.look(&store, tables(&["a", "b", "c"])).unwrap();
    assert_eq!(found, 1);
    assert_eq!(compactor.look(&store, tables(&["a", "b", "c"])).unwrap(), 0, "it waits already");
    let status = compactor.status();
    assert_eq!(status.waiting[0].range.start, b"/b/");
    assert_eq!(status.waiting[0].reason, Reason::Tombstones);
    let done = compactor.compact_next(&store).unwrap();
    assert!(done.outcome.unwrap().cleared());
    assert!(compactor.compact_next(&store).is_none());
    let status = compactor.status();
    assert_eq!((status.compacted, status.failed, status.tombstones_removed), (1, 0, 900));
    assert!(status.waiting.is_empty() && status.running.is_none() && status.finished.len() == 1);
    assert_eq!(statistics(&store).deletions, 20);
    // Ranges compacted in the meantime are not compacted again.
    delete(&store, "a", 0..900);
    compactor.look(&store, tables(&["a", "b", "c"])).unwrap();
    store.compact_table(TABLE).unwrap();
    assert!(compactor.compact_next(&store).is_none());
    assert_eq!(compactor.status().skipped, 1);
}

#[test]
fn a_wall_that_a_list_met_is_queued() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, "a", 0..5_000);
    delete(&store, "a", 0..4_000);
    let mut cursor_rows = 0;
    {
        let snapshot = store.snapshot();
        let mut cursor = snapshot.iter(TABLE, metastore::IterRange::prefix("/a/")).unwrap();
        cursor.first();
        cursor
            .for_each(|_, _| {
                cursor_rows += 1;
                true
            })
            .unwrap();
    }
    assert_eq!(cursor_rows, 1_000);
    let compactor = RangeCompactor::new(SMALL, None);
    let walls = store.take_walls();
    assert_eq!(compactor.look_at_walls(&store, walls.clone()).unwrap(), 1);
    assert_eq!(compactor.look_at_walls(&store, walls).unwrap(), 0, "not again at once");
    let done = compactor.compact_next(&store).unwrap();
    assert_eq!(done.waiting.reason, Reason::Wall);
    assert!(done.outcome.unwrap().cleared());
    assert_eq!(store.metrics().gaps, 0, "nothing is left to go over");
}

#[test]
fn the_place_of_a_look_outlives_the_compactor() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("db"));
    let buckets: Vec<String> = (0..80).map(|i| format!("b{i:02}")).collect();
    let names: Vec<&str> = buckets.iter().map(String::as_str).collect();
    let mut rows = Batch::new();
    let mut deletions = Batch::new();
    for key in names.iter().flat_map(|b| (0..200).map(move |i| format!("/{b}/{i:06}"))) {
        rows.put(TABLE, key.clone(), "value");
        deletions.delete(TABLE, key);
    }
    store.write(rows, Durability::NoWal).unwrap();
    store.flush().unwrap();
    // One file of rows and one of tombstones: too few for a compaction of RocksDB's own.
    store.write(deletions, Durability::NoWal).unwrap();
    store.flush().unwrap();
    let places = dir.path().join("places");
    // One range per bucket.
    let limits = Limits { max_entries: 500, ..SMALL };
    let (mut found, mut looks) = (0, 0);
    loop {
        let compactor = RangeCompactor::new(limits, Some(places.clone()));
        let here = compactor.look(&store, tables(&names)).unwrap();
        found += here;
        looks += 1;
        if compactor.status().places.is_empty() {
            break;
        }
        assert!(here > 0 && looks < 10, "look {looks} found {here}");
    }
    assert_eq!(found, 80, "each bucket once, by {looks} compactors");
    assert!(looks > 1);
}

#[test]
fn a_range_whose_tombstones_grow_is_left_until_they_do_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, "a", 0..2_000);
    let compactor = RangeCompactor::new(SMALL, None).patient(2);
    let look = |bucket| compactor.look(&store, tables(&[bucket])).unwrap();
    delete(&store, "a", 0..900);
    assert_eq!(look("a"), 0, "it was not seen before");
    delete(&store, "a", 900..1_000);
    assert_eq!(look("a"), 0, "it grows");
    assert_eq!(look("a"), 1, "nothing was deleted since the last look");
    assert!(compactor.compact_next(&store).unwrap().outcome.unwrap().cleared());

    // A range that always grows is not delayed forever, and one that is deleted as a whole not at
    // all.
    put(&store, "b", 0..4_000);
    store.compact(TABLE, b"", None).unwrap();
    let found = [0..1_900, 1_900..2_050, 2_050..2_200].map(|keys| {
        delete(&store, "b", keys);
        look("b")
    });
    assert_eq!(found, [0, 0, 1]);
    while compactor.compact_next(&store).is_some() {}
    put(&store, "c", 0..1_000);
    delete(&store, "c", 0..1_000);
    assert_eq!(look("c"), 1);
}

/// Path pattern of SST files below a directory, for faults of their fsyncs.
fn tables_of(dir: &std::path::Path) -> String {
    format!("{}*.sst", dir.display())
}

#[test]
fn a_compaction_that_cannot_write_stops_nothing_and_is_done_later() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, "a", 0..1_000);
    delete(&store, "a", 0..900);
    let compactor = RangeCompactor::new(SMALL, None);
    assert_eq!(compactor.look(&store, tables(&["a"])).unwrap(), 1);
    let failing = testkit::fail_syncs(&tables_of(dir.path()), usize::MAX);
    let failed = compactor.compact_next(&store).unwrap().outcome.unwrap_err();
    assert!(matches!(failed, Error::Failed { operation: "compact", .. }), "{failed}");
    assert!(failing.struck() > 0);
    drop(failing);
    assert!(store.metrics().failed_compactions > 0);
    assert_eq!(compactor.status().failed, 1);
    // Writes and flushes go on.
    put(&store, "b", 0..10);
    assert!(store.failure().is_none());
    assert_eq!(store.range_statistics(TABLE, b"/a/", b"/b/").unwrap().deletions, 900);
    assert_eq!(compactor.look(&store, tables(&["a", "b"])).unwrap(), 1);
    assert!(compactor.compact_next(&store).unwrap().outcome.unwrap().cleared());
}

const CHILD: &str = "METASTORE_TEST_CHILD";

/// Not a test: the process killed by [`a_kill_in_the_middle_of_a_compaction_loses_nothing`].
#[test]
#[ignore = "the second process of a test"]
fn a_process_that_compacts() {
    let Ok(dir) = std::env::var(CHILD) else { return };
    let dir = std::path::PathBuf::from(dir);
    let store = open(&dir.join("db"));
    let round = statistics(&store).entries;
    let mut batch = Batch::new();
    (0..2_000).for_each(|i| batch.put(TABLE, format!("/{round:08}/{i:06}"), "kept"));
    (2_000..4_000).for_each(|i| batch.put(TABLE, format!("/{round:08}/{i:06}"), "deleted"));
    store.write(batch, Durability::Sync).unwrap();
    store.flush().unwrap();
    delete(&store, &format!("{round:08}"), 2_000..4_000);
    std::fs::write(dir.join("round"), format!("{round:08}")).unwrap();
    // The files of a compaction do not become durable before the kill.
    let gate = testkit::Gate::closed();
    let _held = testkit::hold_syncs(&tables_of(&dir), &gate);
    let compaction = std::thread::spawn(move || store.compact(TABLE, b"", None).map(drop));
    // Or one that RocksDB has started by itself, for which ours waits.
    testkit::until_blocking("a compaction to write", || gate.waiting() > 0);
    std::fs::write(dir.join("compacting"), "").unwrap();
    // A failed parent must not leave this process behind; otherwise the parent kills it before.
    std::thread::sleep(testkit::LIMIT);
    gate.open();
    compaction.join().unwrap().unwrap();
}

#[test]
fn a_kill_in_the_middle_of_a_compaction_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut rounds: Vec<String> = Vec::new();
    for _ in 0..3 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "compaction::a_process_that_compacts", "--ignored"])
            .env(CHILD, dir.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        testkit::until_blocking("the compaction to write", || {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed");
            dir.path().join("compacting").exists()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::remove_file(dir.path().join("compacting")).unwrap();
        rounds.push(std::fs::read_to_string(dir.path().join("round")).unwrap());
        let store = open(&dir.path().join("db"));
        for round in &rounds {
            for (i, there) in [(0, true), (1_999, true), (2_000, false), (3_999, false)] {
                let key = format!("/{round}/{i:06}");
                assert_eq!(store.contains(TABLE, key.as_bytes()).unwrap(), there, "{key}");
            }
        }
    }
    // The aborted compaction is done as well.
    let store = open(&dir.path().join("db"));
    assert!(store.compact(TABLE, b"", None).unwrap().cleared());
    assert_eq!(statistics(&store).entries, 2_000 * rounds.len() as u64);
}

/// A file's statistics are available after a restart, including the positions of tombstones.
#[test]
fn files_say_where_their_tombstones_are_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    {
        let store = open(dir.path());
        put(&store, "a", 0..20_000);
        put(&store, "b", 0..20_000);
        store.compact_table(TABLE).unwrap();
        let mut batch = Batch::new();
        (0..15_000).for_each(|i| batch.delete(TABLE, format!("/b/{i:06}")));
        (0..5_000).for_each(|i| batch.put(TABLE, format!("/a/{i:06}"), "again"));
        store.write(batch, Durability::NoWal).unwrap();
        store.flush().unwrap();
    }
    let store = open(dir.path());
    let whole = statistics(&store);
    assert_eq!((whole.entries, whole.deletions), (60_000, 15_000));
    let files = store.table_files(TABLE).unwrap();
    assert!(files.iter().all(|file| !file.samples.is_empty()));
    let of = |start: &[u8], end: &[u8]| store.range_statistics(TABLE, start, end).unwrap();
    // At most one sample's entries more at either end.
    let a = of(b"/a/", b"/b/");
    assert!((25_000..=25_000 + 2 * 4_096).contains(&a.entries), "{a:?}");
    assert!(a.deletions <= 4_096, "{a:?}");
    let b = of(b"/b/", b"/b0");
    assert!(b.deletions == 15_000 && b.entries >= 35_000, "{b:?}");
}
