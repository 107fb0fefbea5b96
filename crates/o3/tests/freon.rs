//! `o3 freon`: counts of generators, and their reports of failures.

mod datanodes;
mod files;
mod keys;
mod om;
mod s3;

use std::process::Output;

use serde_json::Value;

use crate::process::{stderr, stdout};
use crate::transcript::Transcript;

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {} {}", stdout(output), stderr(output)))
}

/// Successes, failures and bytes of a report.
fn counts(report: &Value) -> [u64; 3] {
    ["successes", "failures", "bytes"].map(|name| report[name].as_u64().unwrap())
}

/// Runs a generator that succeeds; returns its report.
fn run(cluster: &Transcript, line: &str) -> Value {
    let output = cluster.output(&format!("freon {line} --json"));
    let (said, told) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{line}: {said} {told}");
    report(&output)
}

/// Runs a generator that fails; returns its error output.
fn fail(cluster: &Transcript, line: &str) -> String {
    let output = cluster.output(&format!("freon {line} --json"));
    assert_eq!(output.status.code(), Some(1), "{line}: {}", stdout(&output));
    stderr(&output)
}

/// Number of timed operations.
fn timed(report: &Value, timer: &str) -> u64 {
    report["timers"][timer]["count"].as_u64().unwrap_or(0)
}

/// A listing of the shell: its rows.
fn listed(cluster: &Transcript, line: &str) -> Vec<Value> {
    let output = cluster.output(&format!("{line} --all"));
    assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The names of the keys of a bucket, in order.
fn keys_of(cluster: &Transcript, bucket: &str) -> Vec<String> {
    let rows = listed(cluster, &format!("sh key list {bucket}"));
    rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn keys_are_created_read_and_compared() {
    let cluster = Transcript::of_cluster();
    let run = |line: &str| cluster.output(&format!("freon {line}"));
    let created = run("ockg -n 12 -t 3 --clients 2 --size 1KB -p run --json");
    assert_eq!(created.status.code(), Some(0), "{}", stderr(&created));
    let created = report(&created);
    assert_eq!(counts(&created), [12, 0, 12 * 1024], "{created}");
    assert_eq!(created["prefix"], "run");
    assert_eq!(created["timers"]["key-create"]["count"], 12);
    for (generator, timer) in [("ocklr", "key-read"), ("ockv", "key-validate")] {
        let read = run(&format!("{generator} -n 12 -t 3 -p run --json"));
        assert_eq!(read.status.code(), Some(0), "{generator}: {}", stderr(&read));
        let read = report(&read);
        assert_eq!(counts(&read), [12, 0, 12 * 1024], "{generator}: {read}");
        assert_eq!(read["timers"][timer]["count"], 12, "{generator}: {read}");
        // A timed run reads the keys repeatedly; a slow machine needs longer for it.
        let again = ["300ms", "3s", "30s"].into_iter().any(|duration| {
            let read = run(&format!("{generator} -n 12 -t 3 -p run --duration {duration} --json"));
            assert_eq!(read.status.code(), Some(0), "{generator}: {}", stderr(&read));
            let [successes, failures, _] = counts(&report(&read));
            assert_eq!(failures, 0, "{generator}: {successes} successes");
            successes > 12
        });
        assert!(again, "{generator} reads no key twice");
    }
    // Two of them have a different content, and one is deleted.
    std::fs::write(cluster.dir().join("other"), "something else").unwrap();
    for number in [3, 7] {
        let put = cluster.output(&format!("sh key put /vol1/bucket1/run/{number} [DIR]/other"));
        assert_eq!(put.status.code(), Some(0), "{}", stderr(&put));
    }
    assert_eq!(cluster.output("sh key delete /vol1/bucket1/run/9").status.code(), Some(0));
    let compared = run("ockv -n 12 -t 1 -p run --fail-at-end --json");
    assert_eq!(compared.status.code(), Some(1));
    assert_eq!(counts(&report(&compared)), [9, 3, 9 * 1024]);
    let said = stderr(&compared);
    for told in ["run/3", "run/7", "has digest", "KEY_NOT_FOUND"] {
        assert!(said.contains(told), "{told}: {said}");
    }
    // Otherwise the first failure ends the run.
    let compared = run("ockv -n 12 -t 1 -p run --json");
    assert_eq!(compared.status.code(), Some(1));
    assert_eq!(counts(&report(&compared)), [3, 1, 3 * 1024]);
    // Without --json it is human-readable.
    let text = stdout(&run("ockg -n 2 -t 1 --size 1KB -p text"));
    for told in ["Executing test with prefix text", "key-create", "Bytes: 2048", "Failures: 0"] {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(text.contains("Successful executions: 2"), "{text}");
}

#[test]
fn erasure_coded_keys_are_created_read_and_compared() {
    let cluster = Transcript::of_datanodes(5);
    let run = |line: &str| run(&cluster, line);
    const SIZE: u64 = 4_000_000;
    let created = run("ockg -n 4 -t 2 --size 4000000 -p ec --type EC -r rs-3-2-1024k");
    assert_eq!(counts(&created), [4, 0, 4 * SIZE], "{created}");
    let info = stdout(&cluster.output("sh key info /vol1/bucket1/ec/3"));
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["replicationConfig"]["replicationType"], "EC", "{info}");
    for generator in ["ocklr", "ockv"] {
        assert_eq!(counts(&run(&format!("{generator} -n 4 -t 2 -p ec"))), [4, 0, 4 * SIZE]);
    }
    let tree = "rk --num-of-volumes 1 --num-of-buckets 2 --num-of-keys 3 --num-of-threads 3 \
        --key-size 4000000 --replication-type EC --replication rs-3-2-1024k --validate-writes";
    let made = run(tree);
    assert_eq!(counts(&made), [6, 0, 6 * SIZE], "{made}");
    assert_eq!(made["timers"]["key-validate"]["count"], 6, "{made}");
    let volume = format!("/vol-0-{}", made["prefix"].as_str().unwrap());
    let keys = |volume: &str| stdout(&cluster.output(&format!("sh key list {volume}")));
    assert_eq!(keys(&volume).matches("\"replicationType\" : \"EC\"").count(), 6);
    let made = run(&format!("{tree} --clean-objects --bucket-layout OBJECT_STORE"));
    let volume = format!("/vol-0-{}", made["prefix"].as_str().unwrap());
    let gone = cluster.output(&format!("sh volume info {volume}"));
    assert!(stderr(&gone).starts_with("VOLUME_NOT_FOUND"), "{}", stderr(&gone));
    let load =
        run("ockc --duration 700ms -t 2 --readers 2 --keys 2 --sizes 40KB,4MB --deletes 10 \
        --type EC -r rs-3-2-1024k");
    for wrong in ["lost", "stale", "torn", "unreadable"] {
        assert_eq!(load[wrong], 0, "{wrong}: {load}");
    }
}

#[test]
fn overwrites_are_checked_while_they_are_read() {
    let cluster = Transcript::of_cluster();
    let load = "freon ockc --duration 700ms -t 2 --readers 2 --keys 2 --sizes 1KB,40KB \
        --deletes 10 --renames 10 --json";
    let output = cluster.output(load);
    assert_eq!(output.status.code(), Some(0), "{} {}", stdout(&output), stderr(&output));
    let report = report(&output);
    for side in ["writes", "reads"] {
        assert!(report[side]["count"].as_u64().unwrap() > 0, "{report}");
        assert_eq!(report[side]["failures"], 0, "{report}");
    }
    for wrong in ["lost", "stale", "torn", "unreadable"] {
        assert_eq!(report[wrong], 0, "{wrong}: {report}");
    }
    let text = cluster.output("freon ockc --duration 200ms -t 1 --readers 0 --keys 1");
    assert_eq!(text.status.code(), Some(0), "{}", stderr(&text));
    assert!(stdout(&text).contains("Lost: 0, stale: 0"), "{}", stdout(&text));
}

#[test]
fn what_cannot_be_run_is_refused_with_a_reason() {
    let mut cluster = Transcript::of_cluster();
    cluster
        .run_all(
            "freon ockg -n 1 --size 10XB
             freon ockg -n 1 --duration soon
             freon ockg -n 1 --threads 0
             freon ockg -n 1 --replication SEVEN
             freon ockg -n 1 --type CHAINED -r ONE
             freon ockg -n 1 --type EC
             freon ockg -n 1 --type EC -r THREE
             freon rk --num-of-threads 0
             freon rk --bucket-layout FLAT
             freon ockg -n 1 --server-pid 4194305
             freon ockg -n 1 --volume Not_A_Volume
             freon ockr -n 1
             freon ocklr -n 1
             freon ocklr -n 1 --key-file [DIR]/absent
             freon ocklr -n 1 --keys 2 --key-file [DIR]/absent
             freon ombr -n 1
             freon ockrw -n 1 --percentage-read 60 --percentage-list 50
             freon omkeybench -n 1 --weights create:1,rename:1
             freon omkeybench -n 1 --weights delete:1
             freon dfsg -n 1 -r hdfs://host/path
             freon dfsg -n 1
             freon dfsv -n 1
             freon dtsg -n 1 -d 9 -s 9
             freon dcg -n 2000000
             freon dcv -n 1
             freon dcv -n 1 -p never
             freon occ -n 1 --clients 2
             freon s3kg -n 1 -e https://localhost:9878
             freon s3kg -n 1 --multi-part-upload
             freon ockv -n 1
             freon ockv -n 1 -p never
             freon ommg
             freon ommg -o FLY
             freon ommg -o MIXED -t 4
             freon ommg -o MIXED --ops HEAD_KEY,CREATE_KEY --opsnum 1 -t 4
             freon ommg -o MIXED --ops MIXED --opsnum 4 -t 4
             freon ommg -o HEAD_KEY -n 3 -p never
             freon ockc --threads 0
             freon ockc --keys 0
             freon ockc --deletes 60
             freon ockc --clients 0 --duration 200ms --timeout never
             freon nonsense",
        )
        .check("freon_refused");
}
