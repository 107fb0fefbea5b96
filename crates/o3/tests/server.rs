//! `o3 server`.

use std::net::{TcpListener, TcpStream};

use crate::process::{Daemon, o3, run, server, stderr, stdout};

#[test]
fn a_server_tells_how_to_reach_it_and_stops_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(server(dir.path(), &[]));
    let names: Vec<&String> = daemon.ready.as_object().unwrap().keys().collect();
    let endpoints = ["om", "scm", "oms", "scms", "conf", "pages", "s3"];
    assert_eq!(names[..2], ["event", "ready_ms"]);
    assert_eq!(names[2..9], endpoints);
    assert_eq!(names[9..], ["access_key", "secret_key"]);
    assert_eq!(daemon.ready["event"], "ready");
    assert!(daemon.ready["ready_ms"].is_u64());
    for address in [daemon.text("om"), daemon.text("scm"), daemon.text("s3").replace("http://", "")]
    {
        TcpStream::connect(&address).unwrap_or_else(|e| panic!("{address}: {e}"));
    }
    assert!(daemon.text("secret_key").len() >= 32);
    let resident = daemon.resident();
    assert!(resident < 300 << 20, "{} MiB resident", resident >> 20);
    assert_eq!(daemon.terminate().code(), Some(0));
}

#[test]
fn a_server_that_does_not_stop_in_time_ends_and_does_not_crash() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["--datanodes", "8", "-D", "trioxide.shutdown.timeout=5ms"];
    // One round in three had threads still running when the process exited.
    for round in 0..6 {
        let daemon = Daemon::start(server(dir.path(), &args));
        let om = format!("ozone.om.address={}", daemon.text("om"));
        let prefix = format!("round{round}");
        let load = ["ockg", "-n", "300", "-t", "8", "--size", "20KB", "-p", prefix.as_str()];
        let load = o3(&["freon", "-D", &om]).args(load).output().unwrap();
        assert!(load.status.success(), "{}", stderr(&load));
        let ended = daemon.terminate();
        assert_eq!(ended.code(), Some(0), "round {round}: {ended}");
    }
}

#[test]
fn a_second_server_on_a_directory_is_refused_and_the_next_one_is_the_same_cluster() {
    let dir = tempfile::tempdir().unwrap();
    let first = Daemon::start(server(dir.path(), &["--datanodes", "1"]));
    let refused = server(dir.path(), &[]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("is in use by another process (pid "),
        "{}",
        stderr(&refused)
    );

    let keys = |daemon: &Daemon| (daemon.text("access_key"), daemon.text("secret_key"));
    let pair = keys(&first);
    assert_eq!(first.terminate().code(), Some(0));
    let second = Daemon::start(server(dir.path(), &[]));
    assert_eq!(keys(&second), pair);
    second.kill();
    let third = Daemon::start(server(dir.path(), &[]));
    assert_eq!(keys(&third), pair);
}

#[test]
fn acknowledged_keys_survive_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let freon = |daemon: &Daemon, args: &[&str]| {
        let om = format!("ozone.om.address={}", daemon.text("om"));
        let output = o3(&["freon", "-D", &om]).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    };
    let first = Daemon::start(server(dir.path(), &[]));
    freon(&first, &["ockg", "-n", "200", "-t", "8", "--size", "10KB", "-p", "small"]);
    freon(&first, &["ockg", "-n", "4", "-t", "2", "--size", "9MB", "-p", "large"]);
    first.kill();
    let second = Daemon::start(server(dir.path(), &[]));
    freon(&second, &["ockv", "-n", "200", "-t", "8", "-p", "small"]);
    freon(&second, &["ockv", "-n", "4", "-t", "2", "-p", "large"]);
    assert_eq!(second.terminate().code(), Some(0));
}

#[test]
fn a_load_that_reads_says_which_keys_are_missing() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(server(dir.path(), &["--datanodes", "1"]));
    let om = format!("ozone.om.address={}", daemon.text("om"));
    let ommg =
        |args: &[&str]| o3(&["freon", "ommg", "-D", &om, "-p", "run"]).args(args).output().unwrap();
    assert!(ommg(&["-o", "CREATE_KEY", "-n", "20"]).status.success());
    assert!(ommg(&["-o", "HEAD_KEY", "-n", "20"]).status.success());
    for operation in ["HEAD_KEY", "LOOKUP_KEY", "GET_KEYINFO"] {
        let refused = ommg(&["-o", operation, "-n", "50"]);
        assert!(!refused.status.success());
        let told = stderr(&refused);
        let key = |number: u64| format!("/vol1/bucket1/run/{number:019}");
        let missing = format!(
            "{operation} reads keys {} to {}, but {} does not exist (20 of 50 do)",
            key(0),
            key(49),
            key(20)
        );
        assert!(told.contains(&missing), "{told}");
        assert!(!told.contains("failed"), "no test was started: {told}");
    }
    // A timed run reads the keys repeatedly.
    let reads_again = ["500ms", "5s", "50s"].into_iter().any(|time| {
        let args = ["-o", "HEAD_KEY", "-n", "20", "--duration", time, "--json"];
        let report: serde_json::Value = serde_json::from_slice(&ommg(&args).stdout).unwrap();
        assert_eq!(report["failures"], 0, "{report}");
        report["successes"].as_u64().unwrap() > 20
    });
    assert!(reads_again);
    assert_eq!(daemon.terminate().code(), Some(0));
}

#[test]
fn acls_of_a_link_are_changed_at_its_source() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(server(dir.path(), &["--datanodes", "1"]));
    let om = format!("ozone.om.address={}", daemon.text("om"));
    let sh = |args: &[&str]| {
        let output = o3(&["sh", "-D", &om]).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stdout(&output)
    };
    sh(&["volume", "create", "/vol1"]);
    sh(&["bucket", "create", "/vol1/source"]);
    sh(&["bucket", "link", "/vol1/source", "/vol1/link"]);
    sh(&["bucket", "addacl", "/vol1/link", "-a", "user:alice:rw"]);
    let (link, source) =
        (sh(&["bucket", "getacl", "/vol1/link"]), sh(&["bucket", "getacl", "/vol1/source"]));
    assert!(source.contains("alice") && !source.contains("WORLD"), "{source}");
    assert!(link.contains("WORLD") && !link.contains("alice"), "{link}");
    assert_eq!(sh(&["bucket", "getacl", "/vol1/link", "--source"]), source);
    assert_eq!(sh(&["bucket", "getacl", "/vol1/source", "--source"]), source);
    assert_eq!(daemon.terminate().code(), Some(0));
}

#[test]
fn a_key_pair_can_be_given() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = server(dir.path(), &["--datanodes", "1"]);
    command.env("O3_ACCESS_KEY", "me").env("O3_SECRET_KEY", "a-secret-of-mine");
    let daemon = Daemon::start(command);
    assert_eq!(
        (daemon.text("access_key"), daemon.text("secret_key")),
        ("me".into(), "a-secret-of-mine".into())
    );
}

#[test]
fn a_port_that_is_taken_is_named_with_its_key() {
    let dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    for key in ["ozone.om.address", "ozone.scm.client.address", "ozone.s3g.http-address"] {
        let definition = format!("{key}={address}");
        let refused =
            server(dir.path(), &["--datanodes", "1", "-D", &definition]).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{key}");
        let said = stderr(&refused);
        assert!(said.contains(key) && said.contains(&address.to_string()), "{key}: {said}");
    }
}

#[test]
fn another_clusters_data_and_a_newer_layout_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    Daemon::start(server(dir.path(), &["--datanodes", "1"])).terminate();
    let version = find_version(&dir.path().join("om"));
    let text = std::fs::read_to_string(&version).unwrap();
    let change = |name: &str, value: &str| {
        let changed: Vec<String> = text
            .lines()
            .map(|l| if l.starts_with(name) { format!("{name}={value}") } else { l.into() })
            .collect();
        std::fs::write(&version, changed.join("\n")).unwrap();
        let refused = server(dir.path(), &[]).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{name}");
        stderr(&refused)
    };
    let said = change("clusterID", "CID-of-another");
    assert!(said.contains("CID-of-another"), "{said}");
    let said = change("layoutVersion", "9999");
    assert!(said.contains("9999"), "{said}");
}

/// The VERSION file below a directory.
fn find_version(dir: &std::path::Path) -> std::path::PathBuf {
    let found = std::fs::read_dir(dir).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        let own = path.join("VERSION");
        own.exists().then_some(own).or_else(|| path.is_dir().then(|| find_below(&path)).flatten())
    });
    found.unwrap_or_else(|| panic!("no VERSION below {}", dir.display()))
}

fn find_below(dir: &std::path::Path) -> Option<std::path::PathBuf> {
    let own = dir.join("current/VERSION");
    own.exists().then_some(own)
}

#[test]
fn a_malformed_value_stops_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    let output =
        run(&["server", "--dir", path.to_str().unwrap(), "-D", "ozone.scm.container.size=huge"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("command line: ozone.scm.container.size = 'huge' is malformed")
    );
    assert!(!path.exists());
}
