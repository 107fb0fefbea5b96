//! `o3 debug`.

use std::os::unix::fs::FileExt;
use std::path::Path;

use serde_json::Value;

use crate::process::{stderr, stdout};
use crate::transcript::Transcript;

/// The output of a command, which must succeed.
fn json(cluster: &Transcript, line: &str) -> Value {
    let output = cluster.output(line);
    assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{line}: {e}"))
}

/// A cluster of five DataNodes with a key of each replication, 4,000,000 bytes long.
fn cluster() -> Transcript {
    let cluster = Transcript::of_datanodes(5);
    let bytes: Vec<u8> =
        (0..4_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(cluster.dir().join("file"), bytes).unwrap();
    for line in [
        "sh volume create vol1",
        "sh bucket create /vol1/bucket1 --layout obs",
        "sh key put /vol1/bucket1/ec [DIR]/file -t EC -r rs-3-2-1024k",
        "sh key put /vol1/bucket1/three [DIR]/file -t RATIS -r THREE",
    ] {
        let output = cluster.output(line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
    }
    cluster
}

/// The replicas of the only block of a key, as `chunk-info` shows them.
fn replicas(cluster: &Transcript, key: &str) -> Vec<Value> {
    let shown = json(cluster, &format!("debug replicas chunk-info /vol1/bucket1/{key}"));
    let blocks = shown["keyLocations"].as_array().unwrap();
    assert_eq!(blocks.len(), 1, "{shown}");
    blocks[0].as_array().unwrap().clone()
}

/// Index and failures of each replica of the first printed key.
fn failures(verified: &Value) -> Vec<(u64, Vec<String>)> {
    let of_replica = |replica: &Value| {
        let checks = replica["checks"].as_array().unwrap().iter();
        let failures = checks.flat_map(|check| check["failures"].as_array().unwrap());
        let words = failures.map(|failure| failure["message"].as_str().unwrap().to_owned());
        (replica["replicaIndex"].as_u64().unwrap(), words.collect())
    };
    let replicas = &verified["keys"][0]["blocks"][0]["replicas"];
    replicas.as_array().unwrap().iter().map(of_replica).collect()
}

#[test]
fn each_replica_of_a_key_is_shown_and_judged() {
    let cluster = cluster();
    let of_ec = replicas(&cluster, "ec");
    let shown: Vec<_> = of_ec
        .iter()
        .map(|replica| {
            let chunks = replica["blockData"]["chunks"].as_array().unwrap();
            let lengths = chunks.iter().map(|chunk| chunk["len"].as_u64().unwrap());
            let kind = replica["chunkType"].as_str().unwrap();
            (replica["replicaIndex"].as_u64().unwrap(), kind, lengths.collect::<Vec<_>>())
        })
        .collect();
    let (cell, rest) = (1 << 20, 4_000_000 - 3 * (1 << 20));
    let expected = [
        (1, "DATA", vec![cell, rest]),
        (2, "DATA", vec![cell]),
        (3, "DATA", vec![cell]),
        (4, "PARITY", vec![cell, rest]),
        (5, "PARITY", vec![cell, rest]),
    ];
    assert_eq!(shown, expected);
    let sums = |n: usize| &of_ec[n]["blockData"]["chunks"][0]["checksums"];
    assert_ne!(sums(0), sums(1), "each replica has checksums of its own");
    assert_eq!(replicas(&cluster, "three").len(), 3);

    let verify = "debug replicas verify --checksums --block-existence --container-state";
    // SCM receives reports of new replicas with the next heartbeats.
    let all = testkit::until_blocking("all replicas to pass", || {
        let all = json(&cluster, &format!("{verify} --all-results /"));
        if all["pass"] == true { Ok(all) } else { Err(all) }
    });
    assert_eq!((&all["pass"], all["keys"].as_array().unwrap().len()), (&true.into(), 2), "{all}");
    let none = json(&cluster, &format!("{verify} /vol1"));
    assert_eq!(none, serde_json::json!({ "keys": [], "pass": true }));

    // A bit of the second replica changes, and the file of the fourth is truncated.
    let file = |n: usize| Path::new(of_ec[n]["file"].as_str().unwrap()).to_owned();
    let options = std::fs::OpenOptions::new().read(true).write(true).open(file(1)).unwrap();
    let mut byte = [0];
    options.read_exact_at(&mut byte, 500_000).unwrap();
    options.write_all_at(&[byte[0] ^ 4], 500_000).unwrap();
    std::fs::OpenOptions::new().write(true).open(file(3)).unwrap().set_len(1000).unwrap();
    let output = cluster.output("debug replicas verify --checksums /vol1/bucket1");
    // Findings are a result.
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let verified: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verified["keys"].as_array().unwrap().len(), 1, "{}", stdout(&output));
    assert_eq!((&verified["keys"][0]["name"], &verified["pass"]), (&"ec".into(), &false.into()));
    for (index, words) in failures(&verified) {
        assert_eq!(words.is_empty(), ![2, 4].contains(&index), "{index}: {words:?}");
        if index == 2 {
            assert!(words[0].contains("chunk at offset 0: checksum mismatch"), "{words:?}");
        }
    }
    let said = stderr(&output);
    for line in ["Status: Completed with failures", "Keys failed checksum verification: 1"] {
        assert!(said.lines().any(|other| other == line), "{line}: {said}");
    }
    // A reader reconstructs around both.
    let read = cluster.output("sh key cat /vol1/bucket1/ec");
    assert!(read.stdout == std::fs::read(cluster.dir().join("file")).unwrap(), "wrong bytes");
}

#[test]
fn what_verify_prints_and_refuses() {
    let mut transcript = Transcript::of_cluster();
    std::fs::write(transcript.dir().join("hello"), "hello").unwrap();
    transcript
        .run_all(
            "sh volume create vol1
             sh bucket create /vol1/bucket1 --layout obs
             sh key put /vol1/bucket1/hello [DIR]/hello
             debug replicas verify --checksums --block-existence --all-results /vol1/bucket1/hello
             debug replicas verify --checksums /vol1
             debug replicas verify --checksums -t EC -r rs-3-2-1024k --all-results /
             debug replicas verify --block-existence /vol1/none
             debug replicas verify --block-existence /vol1/bucket1/none
             debug replicas verify --checksums -t EC /vol1
             debug replicas verify --checksums -id none /vol1
             debug replicas verify /vol1
             debug replicas chunk-info /vol1/bucket1
             debug replicas chunk-info /vol1/bucket1/none",
        )
        .check("debug_replicas");
}
