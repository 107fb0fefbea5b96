//! A DataNode's disk that other programs fill to the last byte, and one that is read-only: writes
//! use other disks and nothing is lost.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use client::{Client, CreateKey, KeyPath};
use serde_json::Value;

use super::ledger::content;
use super::{BUCKET, VOLUME, client, make_bucket, runtime};
use crate::process::{Daemon, run, server, stderr, stdout};

const KEY: usize = 3 << 20;

/// The first disk of the first DataNode.
const SICK: &str = "datanode1/data";

/// Three DataNodes with two disks each.
const ARGUMENTS: [&str; 8] = [
    "--datanodes",
    "3",
    "--disks",
    "2",
    "-D",
    "hdds.datanode.volume.min.free.space=50MB",
    "-D",
    "hdds.datanode.dir.du.reserved.percent=0",
];

/// `o3 server` in a mount namespace that is removed with it, after a command that mounts something
/// at `$1`.
fn behind(mount: &str, dir: &Path) -> Command {
    let mut command = Command::new("unshare");
    let script = format!("mkdir -p \"$1\" && {mount} && shift && exec \"$@\"");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"]);
    let server = server(dir, &ARGUMENTS);
    command.arg(dir.join(SICK)).arg(server.get_program()).args(server.get_args());
    for (name, _) in server.get_envs() {
        command.env_remove(name);
    }
    command.stdin(std::process::Stdio::null());
    command
}

/// Fills a file system.
fn fill(file: &Path) {
    let mut file = std::fs::File::create(file).unwrap();
    for size in [1 << 20, 4096, 1] {
        let piece = vec![7; size];
        let full = loop {
            if let Err(error) = file.write_all(&piece) {
                break error;
            }
        };
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull, "{full}");
    }
}

/// Writes ten keys, all of which complete.
async fn write(client: &Client, names: &str) -> Vec<(KeyPath, bytes::Bytes)> {
    let mut written = Vec::new();
    for n in 0..10 {
        let path = KeyPath::new(VOLUME, BUCKET, format!("{names}{n}"));
        let data = content(names, n, KEY);
        let put = client.put_key(CreateKey::new(path.clone()), data.clone());
        testkit::ended(&path, put).await.unwrap();
        written.push((path, data));
    }
    written
}

async fn verify(client: &Client, written: &[(KeyPath, bytes::Bytes)]) {
    for (path, data) in written {
        let read = testkit::ended(path, client.read_key(path)).await.unwrap();
        assert!(read == *data, "{path} has other bytes");
    }
}

/// Failed disks that SCM reports.
fn failed_disks(daemon: &Daemon) -> Vec<String> {
    let define = format!("ozone.scm.client.address={}", daemon.text("scm"));
    let output = run(&["admin", "-D", &define, "datanode", "list", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let nodes: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let failed = nodes.as_array().unwrap().iter().flat_map(|node| node["failedVolumes"].as_array());
    failed.flatten().map(|path| path.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_disk_that_others_fill_up_holds_nobody_up() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let runtime = runtime();
    let daemon = Daemon::start(behind("mount -t tmpfs -o size=400m small \"$1\"", &data));
    let client = client(&daemon);
    // The path within the server's namespace.
    let root = PathBuf::from(format!("/proc/{}/root", daemon.id()));
    let of_others = root.join(data.strip_prefix("/").unwrap()).join(SICK).join("of-others");
    runtime.block_on(async {
        make_bucket(&client).await;
        let mut written = write(&client, "before").await;
        fill(&of_others);
        written.extend(write(&client, "full").await);
        verify(&client, &written).await;
        std::fs::remove_file(&of_others).unwrap();
        written.extend(write(&client, "room").await);
        verify(&client, &written).await;
    });
    assert_eq!(failed_disks(&daemon), [""; 0], "a full disk has not failed");
}

#[test]
fn a_datanode_starts_with_a_disk_that_is_read_only() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let runtime = runtime();
    let daemon = Daemon::start(server(&data, &ARGUMENTS));
    let before = client(&daemon);
    let mut written = runtime.block_on(async {
        make_bucket(&before).await;
        write(&before, "before").await
    });
    assert!(daemon.terminate().success());

    let read_only = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"";
    let daemon = Daemon::start(behind(read_only, &data));
    let client = client(&daemon);
    runtime.block_on(async {
        written.extend(write(&client, "read-only").await);
        verify(&client, &written).await;
        testkit::until("the disk to be known as failed", async || match &*failed_disks(&daemon) {
            [one] if Path::new(one).starts_with(data.join(SICK)) => Ok(()),
            others => Err(others.to_vec()),
        })
        .await;
    });
}
