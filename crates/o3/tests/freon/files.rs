//! Generators of files: the content of the bucket afterwards.

use std::process::Stdio;

use serde_json::Value;

use super::{counts, fail, listed, report, run, timed};
use crate::process::{KillOnDrop, stderr};
use crate::transcript::Transcript;

/// Settings that allow writers to sync.
const SYNC: [&str; 2] = ["ozone.fs.hsync.enabled=true", "ozone.hbase.enhancements.allowed=true"];

/// A cluster with the generators' default bucket.
fn cluster(settings: &[&str]) -> Transcript {
    let cluster = Transcript::of_settings(1, settings);
    for line in
        ["volume create /vol1", "bucket create /vol1/bucket1 --layout FILE_SYSTEM_OPTIMIZED"]
    {
        let made = cluster.output(&format!("sh {line}"));
        assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    }
    cluster
}

/// Directories and files below a path of the bucket.
fn tree(cluster: &Transcript, below: &str) -> (usize, Vec<String>) {
    let rows = listed(cluster, &format!("sh key list /vol1/bucket1 --prefix {below}/"));
    let (files, directories): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| row["file"] == true);
    let names = files.iter().map(|row| row["name"].as_str().unwrap().to_owned());
    // The path itself is listed, too.
    (directories.len().saturating_sub(1), names.collect())
}

#[test]
fn files_are_created_and_compared() {
    let cluster = cluster(&[]);
    for path in ["--path o3fs://bucket1.vol1/dir", "--rpath ofs://om/vol1/bucket1/dir"] {
        let created = run(&cluster, &format!("dfsg -n 9 -t 3 -s 3KB {path} -p run"));
        assert_eq!(counts(&created), [9, 0, 9 * 3072], "{created}");
        assert_eq!(timed(&created, "file-create"), 9);
        let compared = run(&cluster, &format!("dfsv -n 9 -t 3 {path} -p run"));
        assert_eq!(counts(&compared), [9, 0, 9 * 3072], "{compared}");
        assert_eq!(timed(&compared, "file-read"), 9);
    }
    let (_, files) = tree(&cluster, "dir/run");
    assert_eq!(files, (0..9).map(|number| format!("dir/run/{number}")).collect::<Vec<_>>());
    std::fs::write(cluster.dir().join("other"), "something else").unwrap();
    let put = cluster.output("sh key put /vol1/bucket1/dir/run/4 [DIR]/other");
    assert_eq!(put.status.code(), Some(0), "{}", stderr(&put));
    let told = fail(&cluster, "dfsv -n 9 -t 1 -r o3fs://bucket1.vol1/dir -p run");
    assert!(told.contains("dir/run/4 has digest"), "{told}");
    // The servers do not allow writers to sync.
    let told = fail(&cluster, "dfsg -n 1 -t 1 --sync HSYNC -p sync");
    assert!(told.contains("Hsync is not enabled"), "{told}");
}

#[test]
fn a_bucket_without_files_is_refused() {
    let cluster = Transcript::of_cluster();
    run(&cluster, "ockg -n 1 -t 1 --size 1KB -p run");
    for verb in ["dfsg", "dfsv -p run", "ddsg", "dtsg", "hg", "obrwf"] {
        let told = fail(&cluster, &format!("{verb} -n 1 -t 1"));
        assert!(told.contains("layout OBJECT_STORE has no files"), "{verb}: {told}");
    }
}

#[test]
fn trees_of_directories_are_created() {
    let cluster = cluster(&[]);
    let made = run(&cluster, "ddsg -n 2 -t 2 -d 3 -s 4 -l 6 -r o3fs://bucket1.vol1/dirs");
    assert_eq!((counts(&made), timed(&made, "directory-create")), ([2, 0, 0], 2));
    assert_eq!(tree(&cluster, "dirs"), (2 * (3 + 4), Vec::new()));
    let made = run(&cluster, "dtsg -n 2 -t 2 -d 3 -s 2 -c 3 -g 100B -r o3fs://bucket1.vol1/tree");
    // One, two and four directories, in each three files.
    assert_eq!(counts(&made), [2, 0, 2 * 7 * 3 * 100], "{made}");
    assert_eq!((timed(&made, "file-create"), &made["entries"]), (42, &14.into()));
    let (directories, files) = tree(&cluster, "tree");
    assert_eq!((directories, files.len()), (14, 42));
}

#[test]
fn files_are_listed_while_others_are_written() {
    let cluster = cluster(&[]);
    let load = run(&cluster, "obrwf -n 1 -t 1 -r 20 -c 10 -T 60 -R 5 -w 3 -W 2 -g 100B");
    assert_eq!(timed(&load, "om-bucket-read-write-ops"), 20 + 4 * 2 * 3, "{load}");
    assert_eq!(load["entries"], 6 * 5 * 20, "{load}");
    let (_, files) = tree(&cluster, "dir1/dir2");
    let of = |path: &str| files.iter().filter(|name| name.starts_with(path)).count();
    assert_eq!((of("dir1/dir2/readPath/"), of("dir1/dir2/writePath/")), (20, 24));
}

#[test]
fn a_file_is_synced_while_it_is_written() {
    let cluster = cluster(&SYNC);
    let load = run(
        &cluster,
        "hg -n 30 -t 4 --bytes-per-write 10 --writes-per-transaction 5 --path o3fs://bucket1.vol1/log -p run",
    );
    assert_eq!((counts(&load), timed(&load, "hsync-generator")), ([30, 0, 30 * 50], 30));
    let size = |file: &str| {
        let info = cluster.output(&format!("sh key info /vol1/bucket1/{file}"));
        let info: Value = serde_json::from_slice(&info.stdout).unwrap();
        info["dataSize"].as_u64()
    };
    assert_eq!(size("log/run/0"), Some(1500));
    for sync in ["HSYNC", "hflush"] {
        let files = format!("-n 3 -t 1 -r o3fs://bucket1.vol1/{sync} -p run");
        let line = format!("dfsg {files} -s 10KB --copy-buffer 3000 --sync {sync}");
        assert_eq!(counts(&run(&cluster, &line)), [3, 0, 3 * 10_240]);
        assert_eq!(counts(&run(&cluster, &format!("dfsv {files}"))), [3, 0, 3 * 10_240]);
    }
    // More syncs than one block has chunks.
    let load = run(&cluster, "hg -n 1100 -t 1 --writes-per-transaction 1 -p long");
    assert_eq!(counts(&load), [1100, 0, 1100 * 8], "{load}");
    assert_eq!(size("long/0"), Some(1100 * 8));
    assert_eq!(counts(&run(&cluster, "ocokr -n 1 -t 1 -k long/0")), [1, 0, 1100 * 8]);
}

#[test]
fn what_was_synced_is_read_while_the_file_is_written_on() {
    let cluster = cluster(&SYNC);
    let mut load = cluster.command("freon hg --duration 10m -t 2 -p live --json");
    let load = load.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut load = KillOnDrop(load);
    std::fs::write(cluster.dir().join("file"), "live/0\n").unwrap();
    let synced = testkit::until_blocking("something that was synced", || {
        let read = cluster.output("freon ocklr -n 1 -t 1 --key-file [DIR]/file --json");
        if read.status.success() { Ok(counts(&report(&read))[2]) } else { Err(stderr(&read)) }
    });
    let ended = load.0.try_wait().unwrap();
    drop(load);
    assert!(ended.is_none(), "{ended:?}");
    // Whole transactions.
    assert!(synced > 0 && synced.is_multiple_of(32 * 8), "{synced}");
}
