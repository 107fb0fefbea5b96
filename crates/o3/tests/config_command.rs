//! `o3 config`.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::process::{o3, run, stderr, stdout};

#[test]
fn every_key_is_listed_with_its_value_and_origin() {
    let dir = tempfile::tempdir().unwrap();
    let site = dir.path().join("ozone-site.xml");
    fs::write(
        &site,
        "<configuration>\n<property><name>ozone.om.grpc.port</name><value>1234</value></property>\n</configuration>",
    )
    .unwrap();
    let output = o3(&[
        "config",
        "list",
        "--json",
        "--conf",
        site.to_str().unwrap(),
        "-D",
        "ozone.scm.names=scm7",
    ])
    .env("OZONE_OM_HTTP_ENABLED", "false")
    .output()
    .unwrap();
    let entries: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap();
    let of = |key: &str| entries.iter().find(|e| e["key"] == key).unwrap();
    let seen =
        |key: &str| (of(key)["value"].as_str().unwrap(), of(key)["origin"].as_str().unwrap());
    let place = format!("{}:2", site.display());
    assert_eq!(seen("ozone.om.grpc.port"), ("1234", place.as_str()));
    assert_eq!(seen("ozone.om.http.enabled"), ("false", "environment OZONE_OM_HTTP_ENABLED"));
    assert_eq!(seen("ozone.scm.names"), ("scm7", "command line"));
    assert_eq!(seen("ozone.scm.container.size"), ("5GB", "default"));
    for entry in &entries {
        for field in ["type", "default", "doc"] {
            assert!(entry[field].is_string(), "{entry} has no {field}");
        }
    }
}

#[test]
fn a_directory_named_by_the_environment_is_read() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ozone-site.toml"), "[ozone.om]\naddress = \"om7:1\"\n").unwrap();
    let output = o3(&["config", "get", "ozone.om.address"])
        .env("OZONE_CONF_DIR", dir.path())
        .output()
        .unwrap();
    assert_eq!(stdout(&output), "om7:1\n");
}

#[test]
fn only_what_is_set_is_listed_when_asked_so() {
    let listed = stdout(&run(&["config", "list", "--set", "-D", "ozone.om.grpc.port=1"]));
    let lines: Vec<Vec<&str>> = listed.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(lines.len(), 2, "{listed}");
    assert_eq!(lines[1], ["ozone.om.grpc.port", "1", "integer", "8981", "command", "line"]);
}

#[test]
fn a_key_that_is_set_by_an_old_name_is_shown_with_it_and_warned_of() {
    let old = "ozone.datanode.pipeline.limit";
    let listed = run(&["config", "list", "--set", "-D", &format!("{old}=7")]);
    let (shown, told) = (stdout(&listed), stderr(&listed));
    let line = shown.lines().nth(1).unwrap();
    assert!(
        line.starts_with("ozone.scm.datanode.pipeline.limit") && line.contains(" 7 "),
        "{line}"
    );
    assert!(line.ends_with("command line as ozone.datanode.pipeline.limit"), "{line}");
    let instead = "deprecated: instead, use ozone.scm.datanode.pipeline.limit";
    assert!(told.contains(old) && told.contains(instead), "{told}");
    assert_eq!(stdout(&run(&["config", "get", old])), "2\n");
    assert!(run(&["config", "doc", old]).status.success());
}

#[test]
fn what_promises_safety_that_is_not_there_starts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let home = format!("ozone.metadata.dirs={}", dir.path().display());
    for role in ["om", "scm", "datanode", "s3g"] {
        let output = run(&[role, "-D", &home, "-D", "ozone.security.enabled=true"]);
        assert!(!output.status.success(), "{role}");
        let told = stderr(&output);
        assert!(told.contains("ozone.security.enabled = 'true' is refused"), "{role}: {told}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn one_key_is_explained() {
    let explained = stdout(&run(&["config", "get", "ozone.scm.block.size", "--explain"]));
    for part in
        ["ozone.scm.block.size = 256MB", "from: default", "type: size", "Maximum size of a block."]
    {
        assert!(explained.contains(part), "{explained}");
    }
}

#[test]
fn a_malformed_value_is_named_with_its_file_and_line() {
    let dir = tempfile::tempdir().unwrap();
    let site = dir.path().join("ozone-site.xml");
    let text = "<configuration>\n<property>\n<name>ozone.scm.container.size</name>\n<value>huge</value>\n</property>\n</configuration>";
    fs::write(&site, text).unwrap();
    let output = run(&["config", "list", "--conf", site.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let place = format!("{}:4: ozone.scm.container.size = 'huge' is malformed", site.display());
    assert!(stderr(&output).contains(&place), "{}", stderr(&output));
}

#[test]
fn a_mistyped_key_is_answered_with_the_one_it_may_mean() {
    let output = run(&["config", "get", "ozone.om.adress"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        "o3: unknown key ozone.om.adress (did you mean ozone.om.address?)\n"
    );
}

#[test]
fn the_reference_covers_what_is_listed() {
    let reference = stdout(&run(&["config", "doc"]));
    let listed: Vec<Value> =
        serde_json::from_str(&stdout(&run(&["config", "list", "--json"]))).unwrap();
    assert!(listed.len() > 100);
    for entry in listed {
        let heading = format!("### `{}`", entry["key"].as_str().unwrap());
        assert!(reference.contains(&heading), "{heading}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut child =
        o3(&["config", "doc"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(complaint, "");
}

#[test]
fn the_reference_in_docs_is_what_the_binary_says() {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap();
    let kept = std::path::Path::new(&package).join("../../docs/reference/configuration.md");
    let output = o3(&["config", "doc"]).output().unwrap();
    assert!(
        fs::read_to_string(kept).unwrap() == stdout(&output),
        "docs/reference/configuration.md is out of date: run `make docs`"
    );
}
