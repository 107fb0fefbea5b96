//! Tests wait by `testkit`: for a condition, and never for less time than a busy machine may take.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Findings;
use super::files::rust_files;

/// Names of functions that wait for a condition: `testkit` has them for all crates.
const COPIES: &[&str] = &["until", "until_async", "eventually", "wait_for", "wait_until"];

/// Polls without an end of processes that end with their parent.
const ENDS_WITH_PARENT: &str = "parent_id()";

/// Checks the tests of all crates.
///
/// # Errors
/// When a file cannot be read.
pub fn check(root: &Path, findings: &mut Findings) -> Result<()> {
    let mut files: Vec<PathBuf> = Vec::new();
    rust_files(&root.join("crates"), &mut files)?;
    for file in files {
        let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        if !is_test(&shown) {
            continue;
        }
        let text = fs::read_to_string(&file).with_context(|| shown.clone())?;
        for (line, fault) in faults(&text) {
            findings.error(format!("{shown}:{line}: {fault}"));
        }
    }
    Ok(())
}

/// Whether a file has nothing but tests. The simulation has a clock of its own.
fn is_test(path: &str) -> bool {
    let is_there = path.contains("/tests/") || path.ends_with("tests.rs");
    is_there && !path.starts_with("crates/testkit/") && !path.starts_with("crates/simulation/")
}

/// What is wrong in a file, with its lines.
fn faults(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(name) = function(line).filter(|name| COPIES.contains(name)) {
            found.push((at + 1, format!("{name} waits for a condition, call testkit::until")));
        }
        if has_upper_bound(line) {
            found.push((at + 1, "a busy machine takes longer, prove an order instead".to_owned()));
        }
        if is_endless(&lines[at..]) {
            found.push((at + 1, "a poll without an end, call testkit::until".to_owned()));
        }
    }
    found
}

/// Name of a function that begins here and belongs to no type.
fn function(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.strip_prefix("fn ")?.split(['(', '<']).next()
}

/// Whether a line says that something took less than a time.
fn has_upper_bound(line: &str) -> bool {
    let measured = ["elapsed()", "Instant::now()"].iter().any(|clock| {
        line.split_once(clock).is_some_and(|(_, after)| {
            after.split_once(" < ").is_some_and(|(between, _)| !between.contains([',', ';']))
        })
    });
    measured && !line.contains("testkit::LIMIT")
}

/// Whether a loop begins here that only sleeps until its condition holds.
fn is_endless(lines: &[&str]) -> bool {
    let [head, body, end, ..] = lines else { return false };
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_loop = head.trim_start().starts_with("while ") && head.ends_with('{');
    let sleeps = body.contains("sleep(") || body.contains("yield_now()");
    let is_all = end.trim() == "}" && indent(end) == indent(head);
    is_loop && sleeps && is_all && !head.contains(ENDS_WITH_PARENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        faults(text).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn copies_of_the_wait_are_found() {
        assert_eq!(lines("async fn until(what: &str) {}\npub fn eventually<T>() {}\n"), [1, 2]);
        assert!(lines("fn until_failed() {}\n    fn until(&self) {}\n// fn until()\n").is_empty());
    }

    #[test]
    fn upper_bounds_are_found() {
        let bound = "    assert!(begun.elapsed() < Duration::from_secs(1));\n";
        assert_eq!(lines(bound), [1]);
        assert_eq!(lines("assert!(Instant::now() < deadline, \"late\");\n"), [1]);
        assert!(lines("assert!(begun.elapsed() > SECOND, \"{} < 1\", n);\n").is_empty());
        assert!(lines("assert!(begun.elapsed() < testkit::LIMIT);\n").is_empty());
    }

    #[test]
    fn polls_without_an_end_are_found() {
        let poll = "    while !so() {\n        thread::sleep(MOMENT);\n    }\n";
        assert_eq!(lines(poll), [1]);
        assert!(lines("while n < 9 {\n    n += 1;\n    yield_now();\n}\n").is_empty());
        let child = "while parent_id() == parent {\n    sleep(MOMENT).await;\n}\n";
        assert!(lines(child).is_empty());
    }

    #[test]
    fn tests_are_told_from_what_is_shipped() {
        assert!(
            is_test("crates/om/tests/support/mod.rs") && is_test("crates/scm/src/core_tests.rs")
        );
        assert!(!is_test("crates/om/src/lib.rs") && !is_test("crates/simulation/tests/seeds.rs"));
    }
}
