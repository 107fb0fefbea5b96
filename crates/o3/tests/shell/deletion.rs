//! `o3 admin deletion status`.

use serde_json::Value;

use crate::process::{stderr, stdout};
use crate::transcript::Transcript;

const KEYS: usize = 3;
const BYTES: usize = 5_000;

fn run(cluster: &Transcript, line: &str) -> String {
    let output = cluster.output(line);
    assert!(output.status.success(), "{line}: {}", stderr(&output));
    stdout(&output)
}

/// Pending entries of a table on all servers that process it, and the reason for the delay on one
/// of them.
fn waiting(cluster: &Transcript, table: &str) -> (u64, u64, u64, String) {
    let text = run(cluster, "admin deletion status --json");
    let servers: Vec<Value> = serde_json::from_str(&text).unwrap();
    let (mut rows, mut blocks, mut bytes, mut why) = (0, 0, 0, String::new());
    for server in servers.iter().filter(|server| server["active"] == true) {
        for stage in server["stages"].as_array().unwrap() {
            if stage["table"] == table {
                rows += stage["rows"].as_u64().unwrap();
                blocks += stage["blocks"].as_u64().unwrap();
                bytes += stage["bytes"].as_u64().unwrap();
                why += stage["waitsFor"].as_str().unwrap_or_default();
                assert_eq!(stage["oldest"].is_null(), stage["rows"] == 0, "{stage}");
                assert_eq!(stage["oldestAgeMs"].is_null(), stage["rows"] == 0, "{stage}");
            }
        }
    }
    (rows, blocks, bytes, why)
}

fn shown(cluster: &Transcript, table: &str, holds: impl Fn(u64, u64) -> bool) -> (u64, String) {
    testkit::until_blocking(format!("rows and blocks of {table}"), || {
        let (rows, blocks, bytes, why) = waiting(cluster, table);
        if holds(rows, blocks) { Ok((bytes, why)) } else { Err((rows, blocks, why)) }
    })
}

#[test]
fn deleted_keys_are_seen_at_each_stage_and_what_holds_them_up_is_named() {
    let cluster = Transcript::of_datanodes(3);
    let replicas = 3;
    std::fs::write(cluster.dir().join("file"), vec![7; BYTES]).unwrap();
    run(&cluster, "sh volume create /vol1");
    run(&cluster, "sh bucket create /vol1/bucket1 --layout obs --replication THREE --type RATIS");
    let stages = ["KeyDeletingService", "SCMBlockDeletingService", "BlockDeletingService"];
    for service in stages {
        run(&cluster, &format!("admin service pause {service}"));
    }
    for key in 0..KEYS {
        run(&cluster, &format!("sh key put /vol1/bucket1/k{key} [DIR]/file"));
        run(&cluster, &format!("sh key delete /vol1/bucket1/k{key}"));
    }
    let (keys, all) = (KEYS as u64, (KEYS * BYTES * replicas) as u64);
    let (bytes, why) =
        shown(&cluster, "deletedTable", |rows, blocks| (rows, blocks) == (keys, keys));
    assert_eq!((bytes, why.as_str()), (all, "KeyDeletingService, which is paused"));
    assert_eq!(waiting(&cluster, "deletedBlocks").0, 0);

    run(&cluster, "admin service resume KeyDeletingService");
    let (bytes, why) = shown(&cluster, "deletedBlocks", |_, blocks| blocks == keys);
    assert_eq!((bytes, why.as_str()), (all, "SCMBlockDeletingService, which is paused"));
    assert_eq!(waiting(&cluster, "deletedTable").0, 0);
    assert_eq!(waiting(&cluster, "delete_txns").0, 0);
    let text = run(&cluster, "admin deletion status");
    assert_eq!(text.matches("not confirmed by datanode").count(), replicas, "{text}");

    run(&cluster, "admin service resume SCMBlockDeletingService");
    let (bytes, why) = shown(&cluster, "delete_txns", |_, blocks| blocks == keys * replicas as u64);
    assert_eq!(bytes, all);
    assert_eq!(why.matches("BlockDeletingService, which is paused").count(), replicas, "{why}");
    shown(&cluster, "deletedBlocks", |rows, _| rows == 0);

    run(&cluster, "admin service resume BlockDeletingService");
    shown(&cluster, "delete_txns", |rows, _| rows == 0);
    let text = run(&cluster, "admin deletion status");
    assert_eq!(text.matches(": nothing pending").count(), 3 + replicas, "{text}");
}
