//! Generators of metadata: the state of OM afterwards.

use super::{counts, fail, keys_of, listed, run, timed};
use crate::process::stderr;
use crate::transcript::Transcript;

#[test]
fn metadata_operations_are_counted_by_their_names() {
    let cluster = Transcript::of_cluster();
    let ommg = |line: &str| run(&cluster, &format!("ommg -p meta {line}"));
    let created = ommg("-o CREATE_KEY -n 60 -t 4 --size 100B");
    assert_eq!(counts(&created), [60, 0, 6000], "{created}");
    let operations = [
        ("LOOKUP_KEY", 0, 0_u64),
        ("GET_KEYINFO", 0, 0),
        ("HEAD_KEY", 0, 0),
        ("READ_KEY", 100, 0),
        ("LIST_KEYS", 0, 15),
        ("LIST_KEYS_LIGHT", 0, 15),
        ("INFO_BUCKET", 0, 0),
        ("INFO_VOLUME", 0, 0),
    ];
    for (operation, bytes, rows) in operations {
        // Each of four tasks lists keys of its own; the last one finds one less.
        let report = ommg(&format!("-o {operation} -n 20 -t 4 --batch-size 15"));
        assert_eq!(counts(&report), [20, 0, 20 * bytes], "{report}");
        assert_eq!(timed(&report, operation), 20, "{report}");
        let entries = report["entries"].as_u64().unwrap();
        assert!((20 * rows.saturating_sub(1)..=20 * rows).contains(&entries), "{report}");
    }
    let few = fail(&cluster, "ommg -p meta -o LIST_KEYS -n 4 -t 4 --batch-size 100");
    assert!(few.contains("LIST_KEYS found"), "{few}");
    let mixed = ommg("-o mixed --ops CREATE_KEY,HEAD_KEY --opsnum 1,3 -n 20 -t 4 --random");
    let done: u64 = ["CREATE_KEY", "HEAD_KEY"].iter().map(|op| timed(&mixed, op)).sum();
    assert_eq!((done, counts(&mixed)[0]), (20, 20), "{mixed}");
}

#[test]
fn files_are_created_looked_up_read_and_listed() {
    let cluster = Transcript::of_cluster();
    assert_eq!(cluster.output("sh volume create /vol1").status.code(), Some(0));
    let made = cluster.output("sh bucket create /vol1/tree --layout FILE_SYSTEM_OPTIMIZED");
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    let ommg = |line: &str| run(&cluster, &format!("ommg -b tree -p meta {line}"));
    let created = ommg("-o CREATE_FILE -n 60 -t 4 --size 50B");
    assert_eq!(counts(&created), [60, 0, 3000], "{created}");
    let names = keys_of(&cluster, "/vol1/tree");
    assert!(names.contains(&format!("meta/{:019}", 59)), "{names:?}");
    for (operation, bytes, rows) in [
        ("LOOKUP_FILE", 0, 0),
        ("READ_FILE", 50, 0),
        ("LIST_STATUS", 0, 15),
        ("LIST_STATUS_LIGHT", 0, 15),
    ] {
        let report = ommg(&format!("-o {operation} -n 20 -t 4 --batch-size 15"));
        assert_eq!(counts(&report), [20, 0, 20 * bytes], "{report}");
        assert_eq!((timed(&report, operation), &report["entries"]), (20, &(20 * rows).into()));
    }
    let missing = fail(&cluster, "ommg -b tree -p never -o READ_FILE -n 3");
    assert!(missing.contains("create them with -o CREATE_FILE"), "{missing}");
    // Keys of a bucket without directories are no files.
    run(&cluster, "ommg -o CREATE_KEY -n 1 -t 1 -p meta");
    let refused = fail(&cluster, "ommg -o CREATE_FILE -n 1 -t 1 -p meta");
    assert!(refused.contains("NOT_SUPPORTED_OPERATION"), "{refused}");
}

#[test]
fn keys_without_data_are_created() {
    let cluster = Transcript::of_cluster();
    let created = run(&cluster, "omkg -n 20 -t 4 -p run");
    assert_eq!((counts(&created), timed(&created, "key-create")), ([20, 0, 0], 20));
    let rows = listed(&cluster, "sh key list /vol1/bucket1");
    assert_eq!(rows.len(), 20);
    assert!(rows.iter().all(|row| row["dataSize"] == 0), "{rows:?}");
    // A timed run repeats the same names.
    let again = run(&cluster, "omkg -n 5 -t 2 -p timed -b again --duration 500ms");
    assert!(timed(&again, "key-create") > 5, "{again}");
    assert_eq!(keys_of(&cluster, "/vol1/again").len(), 5);
}

#[test]
fn buckets_are_created_and_removed() {
    let cluster = Transcript::of_cluster();
    let buckets = || listed(&cluster, "sh bucket list /vol1").len();
    let created = run(&cluster, "ombg -n 9 -t 3 -p bucket");
    assert_eq!((counts(&created), timed(&created, "bucket-create"), buckets()), ([9, 0, 0], 9, 9));
    let removed = run(&cluster, "ombr -n 6 -t 3 -p bucket");
    assert_eq!((counts(&removed), timed(&removed, "bucket-remove"), buckets()), ([6, 0, 0], 6, 3));
    assert!(fail(&cluster, "ombr -n 1 -p bucket").contains("BUCKET_NOT_FOUND"));
}

#[test]
fn om_gives_back_the_bytes_that_are_asked_for() {
    let cluster = Transcript::of_cluster();
    for ratis in ["", " --ratis"] {
        let echo =
            format!("om-echo -n 12 -t 3 --clients 2 --payload-req 2 --payload-resp 3{ratis}");
        let answered = run(&cluster, &echo);
        assert_eq!(counts(&answered), [12, 0, 12 * 5 * 1024], "{answered}");
        assert_eq!(timed(&answered, "rpc-payload"), 12);
    }
    let made = run(&cluster, "occ -n 5 -t 2");
    assert_eq!((counts(&made), timed(&made, "client-create")), ([5, 0, 0], 5));
}
