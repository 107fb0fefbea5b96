//! `o3 repair`: databases of stopped servers.

use std::path::Path;
use std::process::Output;

use metastore::{IterRange, OfflineChange, OfflineStore};
use serde_json::Value;

use crate::process::{Daemon, o3, server, stderr, stdout};

/// A cluster whose servers can be stopped and started.
struct Cluster {
    dir: tempfile::TempDir,
    server: Option<Daemon>,
}

impl Cluster {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut cluster = Self { dir, server: None };
        cluster.resume();
        cluster
    }

    fn resume(&mut self) {
        let fast =
            ["ozone.directory.deleting.service.interval", "ozone.block.deleting.service.interval"];
        let fast = fast.map(|key| format!("{key}=100ms"));
        let data = self.dir.path().join("data");
        let arguments = ["--datanodes", "1", "-D", &fast[0], "-D", &fast[1]];
        self.server = Some(Daemon::start(server(&data, &arguments)));
    }

    fn stop(&mut self) {
        assert!(self.server.take().unwrap().terminate().success());
    }

    fn database(&self) -> std::path::PathBuf {
        self.dir.path().join("data/om/om.db")
    }

    /// The output of a command for the running cluster; it must succeed.
    fn run(&self, arguments: &[&str]) -> String {
        let om = format!("ozone.om.address={}", self.server.as_ref().unwrap().text("om"));
        let output = o3(arguments).args(["-D", &om]).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    }

    fn repair(&self, arguments: &[&str]) -> Output {
        let database = self.database().display().to_string();
        o3(&["repair", "om"]).args(arguments).args(["--db", &database]).output().unwrap()
    }

    fn bucket(&self, name: &str) -> Value {
        serde_json::from_str(&self.run(&["sh", "bucket", "info", name])).unwrap()
    }
}

fn rows(database: &Path, table: &str) -> Vec<String> {
    let store = OfflineStore::open_read_only(database).unwrap();
    let mut rows = store.iter(table, IterRange::all()).unwrap();
    rows.first();
    let mut keys = Vec::new();
    rows.for_each(|key, _| {
        keys.push(String::from_utf8(key.to_vec()).unwrap());
        true
    })
    .unwrap();
    keys
}

/// Removes the rows of directories with this name, but not those of their content.
fn lose_directory(database: &Path, name: &str) {
    let lost = rows(database, "directoryTable").into_iter();
    let lost = lost
        .filter(|key| key.ends_with(&format!("/{name}")))
        .map(|key| OfflineChange::Delete { table: "directoryTable".into(), key: key.into_bytes() });
    let lost: Vec<_> = lost.collect();
    assert!(!lost.is_empty(), "there is no {name}");
    OfflineStore::open(database).unwrap().write(&lost).unwrap();
}

fn figures(found: &str) -> Vec<u64> {
    let lines = found.lines().filter_map(|line| line.trim().split_once(": "));
    let lines = lines.filter(|(what, _)| ["Directories", "Files", "Bytes"].contains(what));
    lines.map(|(_, number)| number.parse().unwrap()).collect()
}

#[test]
fn entries_without_their_directory_are_found_and_deleted() {
    let mut cluster = Cluster::start();
    let file = cluster.dir.path().join("file");
    std::fs::write(&file, [7; 1000]).unwrap();
    let file = file.display().to_string();
    cluster.run(&["sh", "volume", "create", "vol1"]);
    cluster.run(&["sh", "bucket", "create", "vol1/obs", "--layout", "OBJECT_STORE"]);
    for bucket in ["fso", "kept"] {
        let bucket = format!("vol1/{bucket}");
        cluster.run(&["sh", "bucket", "create", &bucket, "--layout", "FILE_SYSTEM_OPTIMIZED"]);
        for key in ["a/b/c/f1", "a/b/c/f2", "a/b/f3", "a/f4", "d/e/f5"] {
            cluster.run(&["sh", "key", "put", &format!("{bucket}/{key}"), &file]);
        }
    }
    cluster.run(&["sh", "snapshot", "create", "vol1/kept", "monday"]);
    cluster.stop();
    lose_directory(&cluster.database(), "b");

    // A dry run prints the changes.
    let (directories, files) = (
        |c: &Cluster| rows(&c.database(), "directoryTable"),
        |c: &Cluster| rows(&c.database(), "fileTable"),
    );
    let before = (directories(&cluster), files(&cluster));
    let dry = cluster.repair(&["fso-tree", "--dry-run"]);
    assert!(dry.status.success(), "{}", stderr(&dry));
    let said = stdout(&dry);
    assert_eq!(said.matches("[dry run] Deleting orphaned directory").count(), 1, "{said}");
    assert_eq!(said.matches("[dry run] Deleting orphaned file").count(), 3, "{said}");
    assert!(said.contains("Skipping non-FSO bucket /vol1/obs"), "{said}");
    let skipped = "Skipping repair for bucket 'vol1/kept' due to snapshot presence.";
    assert!(said.contains(skipped), "{said}");
    let found = [3, 2, 2000, 0, 0, 0, 1, 3, 3000];
    assert_eq!(figures(&said), found);
    assert_eq!((directories(&cluster), files(&cluster)), before);

    // Nothing is changed for missing entries, or without confirmation.
    for (arguments, why) in [
        (&["fso-tree", "-v", "/vol9"][..], "Volume '/vol9' does not exist."),
        (
            &["fso-tree", "-v", "vol1", "-b", "none"],
            "Bucket 'none' does not exist in volume '/vol1'.",
        ),
    ] {
        let refused = cluster.repair(&[arguments, &["--force"]].concat());
        assert!(!refused.status.success());
        assert_eq!(stderr(&refused).trim_end(), why);
    }
    assert!(!cluster.repair(&["fso-tree"]).status.success(), "no confirmation");
    assert_eq!((directories(&cluster), files(&cluster)), before);

    let done = cluster.repair(&["fso-tree", "--force", "--volume", "/vol1", "-b", "fso"]);
    assert!(done.status.success(), "{}", stderr(&done));
    assert_eq!(figures(&stdout(&done)), found);
    // Newly deleted entries are unreferenced and reported as such.
    let again = cluster.repair(&["fso-tree", "--dry-run"]);
    assert_eq!(figures(&stdout(&again)), [3, 2, 2000, 0, 0, 0, 0, 0, 0]);
    assert_eq!(rows(&cluster.database(), "deletedDirectoryTable").len(), 1);

    // OM continues from there: the blocks are deleted, and the bucket's counters are right.
    cluster.resume();
    let listed: Value =
        serde_json::from_str(&cluster.run(&["sh", "key", "list", "vol1/fso"])).unwrap();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|key| &key["name"]).collect();
    assert_eq!(names, ["a/", "a/f4", "d/", "d/e/", "d/e/f5"]);
    testkit::until_blocking("the bucket's counters to be right", || {
        let bucket = cluster.bucket("vol1/fso");
        let counted =
            ["usedBytes", "usedNamespace", "pendingDeleteBytes", "pendingDeleteNamespace"]
                .map(|counter| bucket[counter].as_u64());
        // The lost directory counts until a recount.
        let are_right = counted == [Some(2000), Some(6), Some(0), Some(0)];
        if are_right { Ok(()) } else { Err(bucket) }
    });
    cluster.stop();
    assert_eq!(rows(&cluster.database(), "deletedTable"), [""; 0]);
    assert_eq!(rows(&cluster.database(), "deletedDirectoryTable"), [""; 0]);
}

#[test]
fn a_snapshot_is_told_what_it_follows() {
    let mut cluster = Cluster::start();
    cluster.run(&["sh", "volume", "create", "vol1"]);
    cluster.run(&["sh", "bucket", "create", "vol1/bucket1"]);
    for name in ["monday", "tuesday", "wednesday"] {
        cluster.run(&["sh", "snapshot", "create", "vol1/bucket1", name]);
    }
    cluster.stop();
    let database = cluster.database().display().to_string();
    let shown = || -> Value {
        let scan = ["debug", "ldb", "--db", &database, "scan", "--cf", "snapshotInfoTable"];
        serde_json::from_str(&stdout(&o3(&scan).output().unwrap())).unwrap()
    };
    let field = |name: &str, field: &str| {
        let row = &shown()[format!("/vol1/bucket1/{name}")];
        row[field].as_str().unwrap_or_default().to_owned()
    };
    let [monday, tuesday, wednesday] =
        ["monday", "tuesday", "wednesday"].map(|name| field(name, "snapshotId"));
    let chain = |name: &str, global: &str, path: &str, more: &[&str]| {
        let arguments = ["snapshot", "chain", "vol1/bucket1", name, "--gp", global, "--pp", path];
        cluster.repair(&[&arguments[..], more].concat())
    };
    let unknown = "11111111-1111-1111-1111-111111111111";
    for (name, global, path, why) in [
        (
            "friday",
            &monday[..],
            &monday[..],
            "friday does not exist for given bucketUri: /vol1/bucket1".to_owned(),
        ),
        (
            "tuesday",
            unknown,
            &monday,
            format!("globalPreviousSnapshotId: '{unknown}' does not exist in snapshotInfoTable."),
        ),
        (
            "tuesday",
            &monday,
            unknown,
            format!("pathPreviousSnapshotId: '{unknown}' does not exist in snapshotInfoTable."),
        ),
        (
            "tuesday",
            &monday,
            &tuesday,
            format!(
                "pathPreviousSnapshotId: '{tuesday}' is equal to given snapshot's ID: '{tuesday}'."
            ),
        ),
    ] {
        let refused = chain(name, global, path, &["--force"]);
        assert!(!refused.status.success());
        assert_eq!(stderr(&refused).trim_end(), why);
    }
    let before = shown();
    assert!(chain("wednesday", &monday, &monday, &["--dry-run"]).status.success());
    assert_eq!(shown(), before);
    assert!(chain("wednesday", &monday, &monday, &["--force"]).status.success());
    assert_eq!(field("wednesday", "pathPreviousSnapshotId"), monday);
    assert_eq!(field("wednesday", "globalPreviousSnapshotId"), monday);
    assert_eq!(field("wednesday", "snapshotId"), wednesday);
    // The output for snapshots does not depend on it.
    cluster.resume();
    let listed: Value =
        serde_json::from_str(&cluster.run(&["sh", "snapshot", "list", "vol1/bucket1"])).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 3);
    cluster.stop();
}
