//! Generators of keys: the content of the bucket afterwards.

use super::{counts, fail, keys_of, run, timed};
use crate::process::stderr;
use crate::transcript::Transcript;

#[test]
fn ockr_removes_keys_and_ocklr_reads_them() {
    let cluster = Transcript::of_cluster();
    run(&cluster, "ockg -n 12 -t 3 --size 1KB -p run");
    let read = run(&cluster, "ocklr -n 24 --keys 12 -t 3 -p run");
    assert_eq!(counts(&read), [24, 0, 24 * 1024], "{read}");
    assert_eq!(timed(&read, "key-read"), 24);
    assert_eq!(keys_of(&cluster, "/vol1/bucket1").len(), 12);
    let removed = run(&cluster, "ockr -n 8 -t 3 -p run");
    assert_eq!(counts(&removed), [8, 0, 0], "{removed}");
    assert_eq!(timed(&removed, "remove"), 8);
    let rest = ["run/10", "run/11", "run/8", "run/9"];
    assert_eq!(keys_of(&cluster, "/vol1/bucket1"), rest);
    // A removed key cannot be removed or read again.
    assert!(fail(&cluster, "ockr -n 1 -p run").contains("KEY_NOT_FOUND"));
    assert!(fail(&cluster, "ocklr -n 1 -p run").contains("KEY_NOT_FOUND"));
}

#[test]
fn ocklr_reads_the_keys_that_a_file_names() {
    let cluster = Transcript::of_cluster();
    run(&cluster, "ockg -n 3 -t 1 --size 2KB -p run");
    let file = cluster.dir().join("keys");
    std::fs::write(&file, "# two of them\n\nrun/0\n  run/2  \n").unwrap();
    let read = run(&cluster, "ocklr -n 5 -t 2 --key-file [DIR]/keys");
    assert_eq!(counts(&read), [5, 0, 5 * 2048], "{read}");
    std::fs::write(&file, "run/0\nrun/3\n").unwrap();
    assert!(fail(&cluster, "ocklr -n 2 -t 1 --key-file [DIR]/keys").contains("KEY_NOT_FOUND"));
    std::fs::write(&file, "# nothing\n").unwrap();
    assert!(fail(&cluster, "ocklr -n 1 --key-file [DIR]/keys").contains("it names no key"));
}

#[test]
fn one_key_is_read_by_many_tasks() {
    let cluster = Transcript::of_cluster();
    run(&cluster, "ockg -n 1 -t 1 --size 3KB -p run");
    let read = run(&cluster, "ocokr -n 10 -t 4 -k run/0");
    assert_eq!((counts(&read), timed(&read, "key-validate")), ([10, 0, 10 * 3072], 10));
    let asked = run(&cluster, "fr -n 10 -t 4 -k run/0");
    assert_eq!((counts(&asked), timed(&asked, "follower-read")), ([10, 0, 0], 10));
    for verb in ["ocokr", "fr"] {
        assert!(fail(&cluster, &format!("{verb} -n 1 -k run/1")).contains("KEY_NOT_FOUND"));
    }
}

#[test]
fn keys_of_a_range_are_written_read_and_listed() {
    let cluster = Transcript::of_cluster();
    let written =
        run(&cluster, "ockrw -n 10 -t 3 -s 5 -r 10 --linear --contiguous --size 100 -p run");
    assert_eq!(counts(&written), [10, 0, 1000], "{written}");
    let mut names: Vec<String> = (5..15).map(|number| format!("run/{number}")).collect();
    names.sort();
    assert_eq!(keys_of(&cluster, "/ockrwvolume/ockrwbucket"), names);
    // A shorter key is read completely.
    let same = "-s 5 -r 10 --contiguous -p run";
    let read = run(&cluster, &format!("ockrw -n 20 -t 3 {same} --percentage-read 100 --size 70"));
    assert_eq!(counts(&read), [20, 0, 20 * 70], "{read}");
    let read = run(&cluster, &format!("ockrw -n 20 -t 3 {same} --percentage-read 100 --size 900"));
    assert_eq!((counts(&read), timed(&read, "key-read-write-list")), ([20, 0, 20 * 100], 20));
    let asked = run(&cluster, &format!("ockrw -n 9 -t 3 {same} --percentage-read 100 -m"));
    assert_eq!(counts(&asked), [9, 0, 0], "{asked}");
    let listed =
        run(&cluster, &format!("ockrw -n 4 -t 2 {same} --percentage-list 100 --max-list-result 6"));
    assert_eq!((counts(&listed), listed["entries"].as_u64()), ([4, 0, 0], Some(4 * 6)));
    assert_eq!(keys_of(&cluster, "/ockrwvolume/ockrwbucket").len(), 10);
}

#[test]
fn ranges_of_keys_have_the_names_of_ozone() {
    let cluster = Transcript::of_cluster();
    let written = run(&cluster, "ork -n 2 -t 1 -r 2 -s 10 -k pureIndex -g 5B -b plain -p run");
    // Ranges of three keys, of which the last one is the first of the next.
    assert_eq!((counts(&written), timed(&written, "key-read-write")), ([2, 0, 30], 2));
    let names: Vec<String> = (10..15).map(|number| format!("run/{number}")).collect();
    assert_eq!(keys_of(&cluster, "/ockrwvolume/plain"), names);
    run(&cluster, "ork -n 2 -t 1 -r 1 -b hashed -p run");
    // The first digits of the MD5 of 1, 0 and 2.
    let names = ["run/c4ca423", "run/c81e728", "run/cfcd208"];
    assert_eq!(keys_of(&cluster, "/ockrwvolume/hashed"), names);
}

#[test]
fn keys_are_listed_while_others_are_written() {
    let cluster = Transcript::of_cluster();
    let load = run(&cluster, "obrwk -n 1 -t 1 -k 20 -c 10 -T 60 -R 5 -w 3 -W 2 -g 100B -l 12");
    // Six tasks list 20 keys five times each, four write three keys twice.
    assert_eq!(timed(&load, "om-bucket-read-write-ops"), 20 + 4 * 2 * 3, "{load}");
    assert_eq!(timed(&load, "om-bucket-read-ops"), 6 * 5, "{load}");
    assert_eq!(load["entries"], 6 * 5 * 20, "{load}");
    assert_eq!(counts(&load), [1, 0, 44 * 100]);
    let names = keys_of(&cluster, "/vol1/bucket1");
    let of = |path: &str| names.iter().filter(|name| name.starts_with(path)).count();
    assert_eq!((of("readPath/"), of("writePath/"), names.len()), (20, 24, 44));
    assert!(names.iter().all(|name| name.rsplit('/').next().unwrap().len() == 12), "{names:?}");
}

#[test]
fn a_mix_leaves_what_it_created_and_did_not_delete() {
    let cluster = Transcript::of_cluster();
    let mix = "omkeybench -n 600 -t 4 --weights create:6,delete:3,list:1 --batch-size 50";
    for (bucket, limit) in [("all", 100_000), ("few", 5), ("none", 0)] {
        let load = run(&cluster, &format!("{mix} -b {bucket} --max-live-keys {limit} -p run"));
        assert_eq!(counts(&load), [600, 0, 0], "{load}");
        let [created, deleted, lists] =
            ["CREATE", "DELETE", "LIST"].map(|operation| timed(&load, operation));
        assert!(created > 300 && created + deleted + lists <= 600, "{load}");
        let left = keys_of(&cluster, &format!("/vol1/{bucket}"));
        assert_eq!(left.len() as u64, created - deleted, "{bucket}: {load}");
        assert_eq!((deleted > 0, lists > 0), (limit > 0, limit > 0), "{bucket}: {load}");
        assert!(left.iter().all(|name| name.len() == "run/".len() + 19), "{left:?}");
    }
    // A timed run does not restart the numbers: nothing is overwritten.
    let times = ["700ms", "5s", "50s"];
    let timed_out = times.iter().enumerate().find_map(|(n, time)| {
        let load =
            format!("omkeybench -n 10 -t 4 --duration {time} --weights create:1 -b timed{n}");
        let created = timed(&run(&cluster, &format!("{load} --max-live-keys 5")), "CREATE");
        (created > 10).then_some((n, created))
    });
    let (n, created) = timed_out.expect("more keys than numbers");
    assert_eq!(keys_of(&cluster, &format!("/vol1/timed{n}")).len() as u64, created);
}

#[test]
fn a_key_that_differs_from_the_first_is_a_failed_test() {
    let cluster = Transcript::of_cluster();
    run(&cluster, "ockg -n 2 -t 1 --size 1KB -p run");
    std::fs::write(cluster.dir().join("other"), "something else").unwrap();
    let put = cluster.output("sh key put /vol1/bucket1/run/1 [DIR]/other");
    assert_eq!(put.status.code(), Some(0), "{}", stderr(&put));
    assert!(fail(&cluster, "ockv -n 2 -t 1 -p run --stream").contains("run/1 has digest"));
}
