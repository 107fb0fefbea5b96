//! Tests wait by `testkit`: for a condition, and never for less time than a busy machine may take.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::files::rust_files;
use super::findings::Findings;

/// Names of functions that wait for a condition: `testkit` has them for all crates.
const COPIES: &[&str] = &["until", "until_async", "eventually", "wait_for", "wait_until"];

/// Polls without an end of processes that end with their parent.
const ENDS_WITH_PARENT: &str = "parent_id()";

/// Settings that a machine which stands still for as long must not reach.
const JUDGED: &[&str] = &["stale.node.interval", "dead.node.interval"];

/// Milliseconds that a machine may stand still.
const STANDSTILL: u64 = 5_000;

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

/// True if a file has nothing but tests. The simulation has a clock of its own.
fn is_test(path: &str) -> bool {
    let is_there = path.contains("/tests/") || path.ends_with("tests.rs");
    is_there && !path.starts_with("crates/testkit/") && !path.starts_with("crates/simulation/")
}

/// Faults of a file, with their lines.
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
        if has_short_timeout(&lines[at..]) {
            found.push((at + 1, "a busy machine takes longer, call testkit::ended".to_owned()));
        }
        if counts_out_soon(line) {
            found.push((at + 1, "a node that a busy machine holds up is not away".to_owned()));
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

/// True if a line asserts that something took less than a time.
fn has_upper_bound(line: &str) -> bool {
    let measured = ["elapsed()", "Instant::now()"].iter().any(|clock| {
        line.split_once(clock).is_some_and(|(_, after)| {
            after.split_once(" < ").is_some_and(|(between, _)| !between.contains([',', ';']))
        })
    });
    measured && !line.contains("testkit::LIMIT")
}

/// True if a time-out begins here that is a number and fails the test when it is over.
fn has_short_timeout(lines: &[&str]) -> bool {
    let Some((_, call)) = lines[0].split_once("timeout(Duration::from_") else { return false };
    let rest = lines[1..].iter().take(2).take_while(|line| line.trim_start().starts_with('.'));
    let call = rest.fold(call.to_owned(), |call, line| call + line.trim_start());
    let call = call.split(';').next().unwrap_or_default();
    [".await.unwrap()", ".await.expect(", ").unwrap()", ").expect("]
        .iter()
        .any(|s| call.contains(s))
}

/// True if a setting here has a node count as stale or dead after a moment.
fn counts_out_soon(line: &str) -> bool {
    let value =
        JUDGED.iter().find_map(|key| line.split_once(&format!("{key}\", \""))).map(|(_, v)| v);
    let Some((value, _)) = value.and_then(|value| value.split_once('"')) else { return false };
    let (number, unit) = value.split_at(value.find(|c: char| !c.is_ascii_digit()).unwrap_or(0));
    let Ok(number) = number.parse::<u64>() else { return false };
    match unit {
        "ms" => number < STANDSTILL,
        "s" => number * 1_000 < STANDSTILL,
        _ => false,
    }
}

/// True if a loop begins here that only sleeps until its condition holds.
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
    fn short_timeouts_that_fail_a_test_are_found() {
        let direct = "let done = timeout(Duration::from_secs(5), work).await.unwrap();\n";
        assert_eq!(lines(direct), [1]);
        let split = "timeout(Duration::from_millis(50), work)\n    .await\n    .expect(\"\");";
        assert_eq!(lines(split), [1]);
        assert_eq!(lines("let line = told.recv_timeout(Duration::from_secs(9)).unwrap();\n"), [1]);
        // One whose end is what the test is about, or decides nothing.
        assert!(lines("timeout(Duration::from_secs(2), work).await.unwrap_err();\n").is_empty());
        assert!(
            lines("while timeout(Duration::from_secs(2), &mut all).await.is_err() {}").is_empty()
        );
        assert!(lines("timeout(testkit::LIMIT, work).await.unwrap();\n").is_empty());
    }

    #[test]
    fn nodes_that_count_as_dead_after_a_moment_are_found() {
        assert_eq!(lines("conf.with(\"ozone.scm.dead.node.interval\", \"4s\")\n"), [1]);
        assert_eq!(lines("(\"ozone.scm.stale.node.interval\", \"900ms\".to_owned()),\n"), [1]);
        assert!(lines("conf.with(\"ozone.scm.dead.node.interval\", \"12s\")\n").is_empty());
        assert!(lines("conf.with(\"ozone.scm.dead.node.interval\", time)\n").is_empty());
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
            is_test("crates/om/tests/support/mod.rs")
                && is_test("crates/framed/src/connection_tests.rs")
        );
        assert!(!is_test("crates/om/src/lib.rs") && !is_test("crates/simulation/tests/seeds.rs"));
    }
}
