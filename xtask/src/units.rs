//! `make test` does not compile the units of `make run` again: each unit of the one is a unit of
//! the other, with the same features and the same profile.
//!
//! `cargo build` leaves out what only tests depend on, and with it the features that these ask of
//! crates that the binary links, too. Such features are named in the workspace's table or in
//! crates/benchmark.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The units of a cargo command, each as a line. `--unit-graph` compiles nothing; it is not stable,
/// so that the pinned compiler gets a variable that allows it.
fn units(arguments: &[&str]) -> BTreeSet<String> {
    let root = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says")).join("..");
    let target = tempfile::tempdir().expect("a directory");
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(root)
        .args(arguments)
        .args(["--release", "--locked", "--unit-graph", "-Zunstable-options"])
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", target.path())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let graph: Value = serde_json::from_slice(&output.stdout).expect("a graph");
    let units = graph["units"].as_array().expect("units");
    let part = |unit: &Value| {
        let parts = ["pkg_id", "target", "profile", "platform", "mode", "features"];
        parts.map(|name| unit[name].to_string()).join(" ")
    };
    // A crate is compiled for each set of its dependencies, too. Their numbers differ from graph
    // to graph, so that they are compared by their parts.
    let whole = |unit: &Value| {
        let depends = unit["dependencies"].as_array().into_iter().flatten();
        let index = |dependency: &Value| dependency["index"].as_u64().expect("an index") as usize;
        let mut depends: Vec<String> = depends.map(|of| part(&units[index(of)])).collect();
        depends.sort_unstable();
        format!("{} with {}", part(unit), depends.join(", "))
    };
    units.iter().map(whole).collect()
}

#[test]
fn what_make_run_compiles_make_test_does_not_compile_again() {
    let run = units(&["build", "--bin", "o3"]);
    let test = units(&["test", "--workspace", "--lib", "--bins", "--tests", "--no-run"]);
    assert!(run.len() > 300, "only {} units", run.len());
    let again: Vec<&String> = run.difference(&test).collect();
    assert!(
        again.is_empty(),
        "`make test` compiles these once more; name the features that tests add to them in \
         crates/benchmark/Cargo.toml: {again:#?}"
    );
}
